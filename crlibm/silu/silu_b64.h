/* silu for f32 and the 16-bit formats, evaluated in binary64: x sigmoid(x). sigmoid_product_b64.h derives the error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

#define RM_SILU_B64_ERR RM_SIGMOID_VALUE_B64_ERR

RM_FN vf64 rm_silu_eval(vf64 x) {
  vf64 cut = vf64_max(vf64_set1(-200.0), x);
  return rm_sigmoid_value_eval(cut, vf64_min(vf64_set1(200.0), cut), RM_SIGMOID_SCALE);
}
