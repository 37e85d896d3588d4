/* gelu(x) = x Phi(x) for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |gelu x| = |x|/2 erfc a for x < 0, |x|/2 (2 - erfc a) otherwise, a = |x|/sqrt(2), |x| cut to 13.2 in erfc. erfc a =
 * exp(-x^2/2) W(a) with erfc's table (erfc_f32.h): b = 1 + |x| (8/(5 sqrt 2)) has the same error. x^2/2 is exact unless cut;
 * the last product adds 2^-53, so erfc's bound, 2^-40.1 < RM_GELU_F32_ERR, holds. */
#ifndef RM_GELU_F32_H
#define RM_GELU_F32_H

#include "../erfc/erfc_f32.h"

#define RM_GELU_F32_ERR RM_BOUND(0x1p-40)

/* |gelu x|: the loop gives it the sign of x. */
RM_FN vf64 rm_gelu_eval(vf64 x) {
  const vf64 half = vf64_set1(0.5);
  vf64 a = vf64_min(vf64_set1(13.2), vf64_abs(x));
  vf64 w = rm_erfcx_eval(vf64_mad(a, vf64_set1(RM_ERFCX_SCALE32_HALF), vf64_set1(1.0)));
  vf64 v = vf64_mul(rm_exp_eval(vf64_mul(vf64_mul(a, vf64_set1(-0.5)), a)), w);
  v = vf64_select(vf64_lt(x, vf64_set1(0.0)), v, vf64_sub(vf64_set1(2.0), v));
  return vf64_mul(vf64_mul(vf64_abs(x), half), v);
}

#endif
