/* gelu_tanh for f32 and the 16-bit formats, evaluated in binary64: x sigmoid(t(x)). sigmoid_product_b64.h derives the
 * error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

#define RM_GELU_TANH_B64_ERR RM_SIGMOID_VALUE_B64_ERR

RM_FN vf64 rm_gelu_tanh_eval(vf64 x) {
  vf64 cut = vf64_max(vf64_set1(-11.5), x);
  return rm_sigmoid_value_eval(cut, rm_sigmoid_cubic(vf64_min(vf64_set1(11.5), cut)), -1.0);
}
