/* lgamma for f32 and the 16-bit formats, evaluated in binary64, and what digamma shares with it.
 *
 * x <= 8.5: t = x - m for the nearest m, 0 ... 8; t is exact. T(t) = lgamma(2 + t) = t Q(t), Q a polynomial, and lgamma x is
 * T(t) and the logarithm of the factors between x and 2 + t, added or subtracted:
 *   m >= 3    T + log((x - 1) ... (x - m + 2))
 *   m = 1, 0  T - log x, T - log(x (1 + x)); here T and the logarithm are of opposite signs where m = 1, |T| < 0.61 |log x|
 * Beyond: (x - 1/2) log x + (log(2 pi)/2 - x + S(1/x^2)/x), Stirling's series with 8 terms; the first left out is below
 * 2^-51.
 *
 * Error, relative to lgamma x, u = 2^-53:
 *   log       2^-41.8 (log_b64.h), times its share in the result: at most 2.0 (x = 8.5; 1.73 beside 1), so 2^-40.8; for
 *             factors that round 2^-49 absolutely, beside |lgamma| > 0.12 or with the logarithm itself
 *   T         2^-50 of Q, which is at least 0.36, and the roundings of Horner's rule: 2^-48
 *   the rest  sums and products below 60 u of parts at most 2.2 times the result: 2^-45
 * Sum below 2^-40.6. */
#pragma once

#include "../log/log_b64.h"
#include "lgamma_tables.h"

#define RM_LGAMMA_B64_ERR RM_BOUND(0x1p-40)
#define RM_LGAMMA_FACTORS 6 /* x - 1 ... x - 6 */
#define RM_LGAMMA_FAR 8.5

/* The polynomial with coefficients c of the given degree, by Horner's rule. */
RM_FN vf64 rm_gamma_polynomial(const double *c, int degree, vf64 t) {
  vf64 v = vf64_set1(c[degree]);
  RM_UNROLL for (int k = degree - 1; k >= 0; k--) v = vf64_mad(t, v, vf64_set1(c[k]));
  return v;
}
enum { RM_LGAMMA_DEGREE = 15, RM_DIGAMMA_DEGREE = 16, RM_GAMMA_TURN_DEGREE = 8, RM_GAMMA_SERIES = 8 };

/* For -1/2 < x, x normal or 0: lgamma x within RM_LGAMMA_B64_ERR of it. */
RM_NOINLINE vf64 rm_lgamma_eval(vf64 x) {
  const vf64 one = vf64_set1(1.0);
  const vm64 low = vf64_lt(x, vf64_set1(1.5)), lowest = vf64_lt(x, vf64_set1(0.5)),
             far = vf64_lt(vf64_set1(RM_LGAMMA_FAR), x);
  vf64 t = vf64_sub(x, vf64_set1(2.0)), p = one, r;
  RM_UNROLL for (int j = 1; j <= RM_LGAMMA_FACTORS; j++) {
    const vm64 above = vf64_lt(vf64_set1(j + 1.5), x);
    p = vf64_select(above, vf64_mul(p, vf64_sub(x, vf64_set1(j))), p);
    t = vf64_select(above, vf64_sub(x, vf64_set1(j + 2.0)), t);
  }
  t = vf64_select(low, vf64_sub(x, one), t);
  t = vf64_select(lowest, x, t);
  p = vf64_select(low, x, p);
  p = vf64_select(lowest, vf64_abs(vf64_mad(x, x, x)), p);
  p = vf64_select(far, x, p);
  const vf64 near = vf64_mul(t, rm_gamma_polynomial(rm_lgamma_t64, RM_LGAMMA_DEGREE, t));
  const vf64 v = vf64_quotient(one, vf64_max(x, one), &r);
  const vf64 s = rm_gamma_polynomial(rm_lgamma_stirling, RM_GAMMA_SERIES - 1, vf64_mul(v, v));
  const vf64 rest = vf64_mad(v, s, vf64_sub(vf64_set1(RM_LGAMMA_HALF_LOG_2PI), x));
  vf64 factor = vf64_select(low, vf64_set1(-1.0), one);
  factor = vf64_select(far, vf64_sub(x, vf64_set1(0.5)), factor);
  return vf64_mad(factor, rm_log_eval(p), vf64_select(far, rest, near));
}

/* a - the nearest integer, exactly, for 0 <= a <= 2^51. */
RM_FN vf64 rm_gamma_part(vf64 a) {
  const vf64 magic = vf64_set1(0x1.8p52);
  return vf64_sub(a, vf64_sub(vf64_add(a, magic), magic));
}
/* r = that part of a, and S = sin(pi r)/(pi r) within 2^-50, at least 0.63. */
RM_FN vf64 rm_gamma_turn(vf64 a, vf64 *sine) {
  const vf64 r = rm_gamma_part(a);
  const vf64 q = vf64_mad(r, r, vf64_set1(-0.125));
  *sine = rm_gamma_polynomial(rm_gamma_sine64, RM_GAMMA_TURN_DEGREE, q);
  return r;
}

/* For x < -1/2 that is no integer: lgamma x = -log(a |r| S) - lgamma a, a = -x (reflection; pi cancels), within *err. The
 * product rounds by 2^-50, its logarithm by as much absolutely; err has room for it and for 2^-52 of the result. */
RM_FN vf64 rm_lgamma_reflected(vf64 x, vf64 *err) {
  const vf64 a = vf64_abs(x), bound = vf64_set1(RM_LGAMMA_B64_ERR);
  vf64 sine;
  const vf64 r = rm_gamma_turn(a, &sine), whole = rm_lgamma_eval(a);
  const vf64 l = rm_log_eval(vf64_mul(vf64_mul(a, vf64_abs(r)), sine));
  const vf64 sizes = vf64_add(vf64_add(vf64_abs(l), vf64_abs(whole)), vf64_set1(0x1p-8));
  *err = vf64_mul(sizes, bound);
  return vf64_sub(vf64_neg(l), whole);
}
