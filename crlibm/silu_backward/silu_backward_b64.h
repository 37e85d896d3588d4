/* silu_backward for f32 and the 16-bit formats, evaluated in binary64: g silu'(x). sigmoid_product_b64.h derives the
 * error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

/* g f'(x) within *err. */
RM_FN vf64 rm_silu_backward_eval(vf64 g, vf64 x, vf64 *err) {
  vf64 t = rm_sigmoid_cut(x);
  return rm_sigmoid_swish_eval(g, t, RM_SIGMOID_SCALE, t, err);
}
