/* tanh_backward for f32 and the 16-bit formats, evaluated in binary64: 4 g sigmoid'(2x). sigmoid_product_b64.h derives the
 * error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

#define RM_TANH_BACKWARD_B64_ERR RM_SIGMOID_SLOPE_B64_ERR

RM_FN vf64 rm_tanh_backward_eval(vf64 g, vf64 x) {
  vf64 t = vf64_max(vf64_set1(-100.0), vf64_min(vf64_set1(100.0), x));
  return rm_sigmoid_slope_eval(vf64_mul(vf64_set1(4.0), g), t, 2.0 * RM_SIGMOID_SCALE);
}
