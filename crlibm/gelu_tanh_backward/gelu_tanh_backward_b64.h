/* gelu_tanh_backward for f32 and the 16-bit formats, evaluated in binary64: g gelu_tanh'(x). sigmoid_product_b64.h derives
 * the error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

/* g f'(x) within *err. */
RM_FN vf64 rm_gelu_tanh_backward_eval(vf64 g, vf64 x, vf64 *err) {
  vf64 cut = vf64_max(vf64_set1(-14.0), vf64_min(vf64_set1(14.0), x));
  return rm_sigmoid_swish_eval(g, rm_sigmoid_cubic(cut), -1.0, rm_sigmoid_cubic_p(cut), err);
}
