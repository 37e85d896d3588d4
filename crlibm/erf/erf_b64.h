/* erf for f32 and the 16-bit formats, evaluated in binary64: one polynomial, no table, for the instruction sets on which
 * looking coefficients up takes longer than all of it.
 *
 * erf x = x (C1 + u q(u - 31/4)), C1 = RN(2/sqrt(pi)), u = x^2, q of degree 20, a minimax fit of erf(x)/x relatively. |x| is
 * cut to 2015/512, where 1 - erf < 2^-25.19: beyond it every f32 or 16-bit result is +-1. u < 31/2 is exact, x having 24
 * bits. For u < 2^-54 the value is RN(x C1): what erf.h says of subnormal results stands on it.
 *
 * Errors relative to erf(x)/x >= 0.2539: q 2^-39.16; its roundings 2^-45.4, without FMA twice that (erf_gen.py: term n of q
 * passes five operations, and its power n roundings); u - 31/4, off by 2^-51, |q'| < 0.12: 2^-51 0.12 u / 0.2539 < 2^-48; C1,
 * the last sum and product 2^-50. Sum below 2^-39.1 < RM_ERF_B64_ERR. */
#pragma once

#include "../simd/undecided.h"
#include "erf_tables.h"

#define RM_ERF_B64_ERR RM_BOUND(0x1p-39)

RM_FN vf64 rm_erf_eval(vf64 x) {
  const double limit = 2015.0 / 512;
  x = vf64_max(vf64_set1(-limit), vf64_min(vf64_set1(limit), x));
  vf64 u = vf64_mul(x, x), v = vf64_sub(u, vf64_set1(RM_ERF_U32 / 2));
  vf64 v2 = vf64_mul(v, v), v4 = vf64_mul(v2, v2), v8 = vf64_mul(v4, v4), p[6], r[3];
#define RM_C(n) vf64_set1(rm_erf_q32[n])
  RM_UNROLL for (int n = 0; n < 5; n++) p[n] =
      vf64_mad(vf64_mad(RM_C(4 * n + 3), v, RM_C(4 * n + 2)), v2, vf64_mad(RM_C(4 * n + 1), v, RM_C(4 * n)));
  p[5] = RM_C(20);
#undef RM_C
  RM_UNROLL for (int n = 0; n < 3; n++) r[n] = vf64_mad(p[2 * n + 1], v4, p[2 * n]);
  vf64 q = vf64_mad(vf64_mad(r[2], v8, r[1]), v8, r[0]);
  return vf64_mul(x, vf64_mad(u, q, vf64_set1(RM_ERF_C1)));
}
