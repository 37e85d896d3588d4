/* digamma for f32 and the 16-bit formats, evaluated in binary64.
 *
 * x <= 8.5: with t and m of lgamma_b64.h, D(t) = digamma(2 + t), a polynomial, and digamma x is D(t) + 1/(x - 1) + ... + 1/(x
 * - m + 2) for m >= 3, D - 1/x for m = 1, D - 1/x - 1/(1 + x) for m = 0. The sum of reciprocals is a quotient q/p. Beyond:
 *   log x - 1/(2x) - S(1/x^2)/x^2,
 * the asymptotic series with 8 terms; the first left out is below 2^-50.
 *
 * digamma has a zero at 1.46, so that the error is absolute, u = 2^-53:
 *   D         2^-50.3 and the roundings of Horner's rule, of parts below 0.75 in all halved by t: 4 u; |D| < 0.75
 *   q/p       factors round by 2^-53 relatively (1 + x), p and q by 12 u, the quotient 2^-51.9: below 2^-48.6 q/p
 *   log       2^-41.8 of it, which is at least 2.1 beyond 8.5; the rest is below 0.06, its roundings below 2^-53
 *   the sum   2^-53 of the result, at most 0.75 + |q/p| resp. log x; and 2^-52 of it for the rounding test
 * err is 2^-48 (1 + |q/p|), resp. 2^-41 log x. */
#pragma once

#include "../lgamma/lgamma_b64.h"

#define RM_DIGAMMA_B64_ERR RM_BOUND(0x1p-48)
#define RM_DIGAMMA_FAR_ERR RM_BOUND(0x1p-41)

/* For finite x > -1/2 other than 0: digamma x within *err, which has room for 2^-52 of the result. */
RM_NOINLINE vf64 rm_digamma_within(vf64 x, vf64 *err) {
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0);
  const vm64 low = vf64_lt(x, vf64_set1(1.5)), lowest = vf64_lt(x, vf64_set1(0.5)),
             far = vf64_lt(vf64_set1(RM_LGAMMA_FAR), x);
  vf64 t = vf64_sub(x, vf64_set1(2.0)), p = one, q = zero, r;
  RM_UNROLL for (int j = 1; j <= RM_LGAMMA_FACTORS; j++) {
    const vm64 above = vf64_lt(vf64_set1(j + 1.5), x);
    const vf64 f = vf64_sub(x, vf64_set1(j));
    q = vf64_select(above, vf64_mad(q, f, p), q);
    p = vf64_select(above, vf64_mul(p, f), p);
    t = vf64_select(above, vf64_sub(x, vf64_set1(j + 2.0)), t);
  }
  t = vf64_select(low, vf64_sub(x, one), t);
  t = vf64_select(lowest, x, t);
  p = vf64_select(low, x, p);
  q = vf64_select(low, vf64_set1(-1.0), q);
  p = vf64_select(lowest, vf64_mad(x, x, x), p);
  q = vf64_select(lowest, vf64_nmad(vf64_set1(2.0), x, vf64_set1(-1.0)), q);
  p = vf64_select(far, x, p);
  q = vf64_select(far, one, q);
  const vf64 ratio = vf64_quotient(q, p, &r), size = vf64_abs(ratio), w = vf64_mul(ratio, ratio);
  const vf64 near = vf64_add(rm_gamma_polynomial(rm_digamma_t64, RM_DIGAMMA_DEGREE, t), ratio);
  const vf64 l = rm_log_eval(vf64_max(x, one));
  const vf64 rest =
      vf64_mad(w, rm_gamma_polynomial(rm_digamma_stirling, RM_GAMMA_SERIES - 1, w), vf64_mul(ratio, vf64_set1(0.5)));
  const vf64 y = vf64_select(far, vf64_sub(l, rest), near);
  *err = vf64_select(far, vf64_mul(l, vf64_set1(RM_DIGAMMA_FAR_ERR)),
                     vf64_mul(vf64_add(one, size), vf64_set1(RM_DIGAMMA_B64_ERR)));
  return y;
}

/* cos(pi r) within 2^-52, |r| <= 1/2. */
RM_FN vf64 rm_gamma_turned(vf64 r) {
  return rm_gamma_polynomial(rm_gamma_cosine64, RM_GAMMA_TURN_DEGREE, vf64_mad(r, r, vf64_set1(-0.125)));
}

/* For a > 1/2 that is no integer: digamma -a = digamma a + 1/a + cos(pi r)/(r S), r = a - the nearest integer, within *err:
 * the cosine is 2^-52 off, S and the products 2^-50 relatively, the quotients 2^-51.9: 2^-49 (1 + 1/|r|) and 2^-49/a. */
RM_FN vf64 rm_digamma_of_negative(vf64 a, vf64 *err) {
  const vf64 one = vf64_set1(1.0);
  vf64 sine, more, s;
  const vf64 r = rm_gamma_turn(a, &sine);
  const vf64 turn = vf64_quotient(rm_gamma_turned(r), vf64_mul(r, sine), &s);
  const vf64 inverse = vf64_quotient(one, a, &s);
  const vf64 whole = rm_digamma_within(a, &more);
  const vf64 y = vf64_add(vf64_add(whole, inverse), turn);
  *err = vf64_add(more, vf64_mul(vf64_add(vf64_add(one, vf64_abs(turn)), inverse), vf64_set1(RM_DIGAMMA_B64_ERR)));
  return y;
}
RM_FN vf64 rm_digamma_reflected(vf64 x, vf64 *err) { return rm_digamma_of_negative(vf64_abs(x), err); }
