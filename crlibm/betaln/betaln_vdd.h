/* betaln in double-double for the fast phase of f64, by vectors with a running bound (simd/vdd.h). With c = a + b, a <= b,
 * and A = a + N, B = b + M, C = c + M for the least N and M by which A, B > 8.5, as in betaln_formula.h,
 *   log B(a, b) = a log(A/C) + (N - 1/2) log A - N + log(2 pi)/2 + S(A) - (B - 1/2) log1p(a/B) + S(B) - S(C) + log(p/q),
 * p the product of c + j over j < M, q that of b + j over j < M and of a + j over j < N. From a > 8.5 on the large parts have
 * one sign. All numbers are between 2^-400 and 2^440, the tails of S above 2^-700.
 *
 * A, B, C, p and q are within 2^-97 of themselves: 18 products and sums of positive numbers. So quotients of them are within
 * 2^-76, and their logarithms absolutely; log1p(u) within 2^-76 of itself for that, as u/(1 + u) <= log1p u for u > 0. */
#pragma once

#include "../lgamma/lgamma_vdd.h"

#define RM_BETALN_LEAST 0x1p-200
#define RM_BETALN_MOST 0x1p200

/* log B(a, b) for RM_BETALN_LEAST <= a <= b <= RM_BETALN_MOST. */
RM_FN rm_vdd rm_betaln_vdd(vf64 a, vf64 b) {
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0), limit = vf64_set1(RM_LGAMMA_FAR), half = vf64_set1(-0.5);
  const rm_vdd unit = rm_vdd_exact(one);
  rm_vdd x = rm_vdd_exact(a), y = rm_vdd_exact(b), z = rm_vdd_of(a, b, zero), p = unit, q = unit;
  vf64 n = zero;
  for (int k = 0; k < 10; k++) { /* more than it takes */
    const vm64 few = vf64_le(x.h, limit), many = vf64_le(y.h, limit);
    if (vm64_none(vm64_or(few, many))) break;
    p = rm_vdd_select(many, rm_vdd_mul(p, z), p);
    q = rm_vdd_select(many, rm_vdd_mul(q, y), q);
    q = rm_vdd_select(few, rm_vdd_mul(q, x), q);
    z = rm_vdd_select(many, rm_vdd_add(z, unit), z);
    y = rm_vdd_select(many, rm_vdd_add(y, unit), y);
    x = rm_vdd_select(few, rm_vdd_add(x, unit), x);
    n = vf64_select(few, vf64_add(n, one), n);
  }
  vf64 h, l, e;
  const rm_vdd u = rm_vdd_div(rm_vdd_exact(a), y);
  rm_log1p_dd_of(u.h, u.l, &h, &l, &e);
  const rm_vdd p1 = rm_vdd_of(h, l, vf64_mad(vf64_abs(h), vf64_set1(0x1p-75), e));
  rm_vdd r =
      rm_vdd_sub(rm_gamma_log_vdd(rm_vdd_div(p, q), vf64_set1(0x1p-75)), rm_vdd_mul(rm_vdd_add(y, rm_vdd_exact(half)), p1));
  r = rm_vdd_add(r, rm_vdd_times(rm_gamma_log_vdd(rm_vdd_div(x, z), vf64_set1(0x1p-75)), a));
  r = rm_vdd_add(r, rm_vdd_times(rm_gamma_log_vdd(x, vf64_set1(0x1p-96)), vf64_add(n, half)));
  r = rm_vdd_add(r, rm_vdd_sub(rm_vdd_constant(RM_LGAMMA_HALF_LOG_2PI, RM_LGAMMA_HALF_LOG_2PI_LO), rm_vdd_exact(n)));
  r = rm_vdd_add(r, rm_lgamma_series_vdd(x));
  return rm_vdd_add(r, rm_vdd_sub(rm_lgamma_series_vdd(y), rm_lgamma_series_vdd(z)));
}
