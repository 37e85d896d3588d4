/* erfcx, exp(x^2) erfc(x), for f32 and the 16-bit formats, evaluated in binary64.
 *
 * erfcx x = W(x) by erfc's table (erfc_b64.h), 0 <= x < 9.375; for x < 0 it is 2 exp(x^2) - W(-x), at least exp(x^2), so that
 * nothing cancels but what W's share leaves: twice the error of exp, below 2^-44 of it (x^2 is exact), and W's 2^-40.2 (fit,
 * b and sum). Sum below 2^-40.1 of the result. x is cut to -9.6; where b = 1 + 8a/5 is beyond 16, the index begins again, and
 * what comes for W is below 2, 2^-125 of 2 exp(x^2). Beyond 9.375 see erfcx_far.h. */
#pragma once

#include "../erfc/erfc_b64.h"

#define RM_ERFCX_B64_ERR RM_BOUND(0x1p-40)

RM_FN vf64 rm_erfcx_eval(vf64 x) {
  const vf64 a = vf64_min(vf64_set1(9.6), vf64_abs(x)), two = vf64_set1(2.0);
  const vf64 w = rm_erfc_w_eval(vf64_mad(a, vf64_set1(RM_ERFCX_SCALE32), vf64_set1(1.0)));
  const vf64 e = rm_exp_eval(vf64_mul(a, a));
  return vf64_select(vf64_lt(x, vf64_set1(0.0)), vf64_sub(vf64_mul(two, e), w), w);
}
