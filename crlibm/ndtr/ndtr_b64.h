/* Phi(x), the normal distribution function, for f32 and the 16-bit formats, evaluated in binary64; the core of gelu as
 * well.
 *
 * 2 Phi(x) = erfc a for x < 0, 2 - erfc a otherwise, a = |x|/sqrt(2), |x| cut to 13.2. erfc a = exp(-x^2/2) W(a) with
 * erfc's table (erfc_b64.h): b = 1 + |x| (8/(5 sqrt 2)) has the same error. x^2/2 is exact unless cut, so erfc's bound,
 * 2^-40.1, holds; half of it is exact. Beyond the cut every f32 or 16-bit result is subnormal or zero for x < 0, and 1 for
 * x > 0. */
#pragma once

#include "../erfc/erfc_b64.h"

#define RM_NDTR_B64_ERR RM_BOUND(0x1p-40)

/* 2 Phi(x) within 2^-40.1. */
RM_FN vf64 rm_ndtr_twice_eval(vf64 x) {
  vf64 a = vf64_min(vf64_set1(13.2), vf64_abs(x));
  vf64 w = rm_erfc_w_eval(vf64_mad(a, vf64_set1(RM_ERFCX_SCALE32_HALF), vf64_set1(1.0)));
  vf64 v = vf64_mul(rm_exp_eval(vf64_mul(vf64_mul(a, vf64_set1(-0.5)), a)), w);
  return vf64_select(vf64_lt(x, vf64_set1(0.0)), v, vf64_sub(vf64_set1(2.0), v));
}

RM_FN vf64 rm_ndtr_eval(vf64 x) { return vf64_mul(vf64_set1(0.5), rm_ndtr_twice_eval(x)); }
