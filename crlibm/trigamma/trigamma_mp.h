/* trigamma in multiprecision fixed point (fp/mp.h), up to RM_GAMMA_MP_MAX limbs, by the parts of lgamma_mp.h.
 *
 * No theorem is known that keeps its values at rational numbers off the boundaries of rounding (at integers and halves they
 * are pi^2 times rational numbers, less rational numbers, and transcendental). Should a value be undecided with 512 bits, the
 * result is the lower end of its interval, rounded. */
#pragma once

#include "../lgamma/lgamma_mp.h"

#define RM_TRIGAMMA_MP_SERIES_ERR(n) (5300 * ((uint64_t)(n) + 4))

/* 2^E times the asymptotic series of y = Y 2^E, E >= 9, within RM_TRIGAMMA_MP_SERIES_ERR units; the square of 1/Y goes to
 * `square`, within n + 60.
 *
 * 2^E trigamma y = v (1 + u 2^-8 + the sum of B_2k 2^-14k u^2k) with v = 1/Y <= 2 and u = 2^7/y. Y is 2 units off: v is 4
 * 2 for that and 4 for the quotient that is cut, 13 in all. u 2^-8 is 2 off; its product with v n + 1 and 4 + 1 more. The
 * sum over k: terms of |B_2k|/(2k) 2^-14k u^2k are n + 4 off (rm_gamma_mp_series), 2k <= 100 times that, of 50 terms 2550 (n
 * + 4), whatever their signs; what follows a power that is computed as 0, and what 50 terms leave out, 200 times the rest
 * there, is below 3 units. Products of both signs with v: 2 (n + 1), twice that sum, 1. Together below 5100 (n + 4) + 3 n +
 * 40. */
RM_COLD void rm_trigamma_mp_series(uint64_t *r, uint64_t *square, const struct rm_gamma_shifted *s, int n) {
  uint64_t w[RM_MP_LIMBS], p[RM_MP_LIMBS], t[RM_MP_LIMBS + 1], minus[RM_MP_LIMBS], v[RM_MP_LIMBS];
  rm_mp_from_integer(t, 1, -2, n);
  rm_mp_div(v, t, s->y, n);
  rm_mp_shift_up(v, v, 2, n);
  rm_mp_mul(square, v, v, n);
  rm_gamma_mp_inverse(p, s, n);
  rm_mp_shift_down(r, p, RM_GAMMA_MP_BASE + 1, n);
  rm_mp_set(t, 1, n);
  rm_mp_add(r, r, t, n);
  rm_mp_set(minus, 0, n);
  rm_mp_mul(w, p, p, n);
  rm_mp_copy(p, w, n);
  for (int k = 0; k < RM_GAMMA_MP_TERMS && rm_mp_length(p, n) > 0; k++) {
    uint64_t *const to = k % 2 ? minus : r;
    rm_gamma_mp_entry(t, rm_gamma_mp_series_table, k, n);
    rm_mp_mul(t, t, p, n);
    rm_mp_mul_small(t, t, (uint64_t)(2 * k + 2), n);
    rm_mp_add(to, to, t, n);
    rm_mp_mul(p, p, w, n);
  }
  rm_mp_sub(r, r, minus, n);
  rm_mp_mul(r, r, v, n);
}

/* v 2^e = the sum of (x + j)^-2 over j from `from` on, 0 or 1, within *err units of 2^e; returns e. Finite x > -1/2; from = 1
 * for |x| < 1/2.
 *
 * Below 256, e = 0: f = x + j >= 1/2 is a unit off, its square 2 f + n + 2, the quotient of 1/8 an eighth of that over f^4,
 * relatively little more, and a unit; times 8. The sum over f = 1/2, 3/2 ... of (2 f + n + 2)/f^4 is below 17 (n + 3), of 8
 * for each of 257 terms 2056. The series is moved by 9. From 256 on, with from = 1, 1/x^2 is taken away, moved by E >= 9. */
RM_COLD int rm_trigamma_mp(uint64_t *v, double x, int from, int n, uint64_t *err) {
  struct rm_gamma_shifted s;
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS], t[RM_MP_LIMBS];
  rm_gamma_mp_shift(&s, x, n);
  rm_trigamma_mp_series(v, t, &s, n);
  if (!s.shift) {
    *err = RM_TRIGAMMA_MP_SERIES_ERR(n) + (uint64_t)n + 8;
    if (from) {
      rm_mp_shift_down(t, t, s.e, n);
      rm_mp_sub(v, v, t, n);
    }
    return -s.e;
  }
  rm_mp_shift_down(v, v, s.e, n);
  rm_mp_from_integer(a, 1, -3, n);
  for (int j = from; j < s.shift; j++) {
    rm_gamma_mp_plus(b, x, (uint64_t)j, n);
    rm_mp_mul(b, b, b, n);
    rm_mp_div(t, a, b, n);
    rm_mp_shift_up(t, t, 3, n);
    rm_mp_add(v, v, t, n);
  }
  *err = RM_TRIGAMMA_MP_SERIES_ERR(n) / 512 + 20 * ((uint64_t)n + 3) + 8 * 257 + 8;
  return 0;
}

/* trigamma x correctly rounded, for finite x other than 0 and the poles; part = |x| - the nearest integer for x <= -1/2.
 *
 * |x| < 1/2: (1 + x^2 v)/x^2 with v = trigamma(1 + x) < 5. x is a unit off, x^2 <= 1/4 n + 2, x^2 v a quarter of the error of
 * v, 5 (n + 2) and n + 1: e. Over 16 and by the square of the significand, at least 1/4 and n + 1 off: 4 (e/16 + 1), 2.3 (n
 * + 1) and a unit: below e/4 + 3 n + 8, times 2^4.
 * x <= -1/2: 1/(part S)^2 - v, v = trigamma(1 + a), a = -x. With m >= 1/2 the significand of part, m S >= 0.318 is n + 1 and
 * the error of S off, its square d >= 0.101 twice that and n + 1; the quotient of 1/16 by it, at most 0.62, 6.2 times as
 * much, and a unit: below 14 errors of S + 20 (n + 1). v is moved by 4 + 2 k, part = m 2^-k, or more. */
RM_COLD uint64_t rm_trigamma_mp_round(double x, double part, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], t[RM_MP_LIMBS], w[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_GAMMA_MP_MAX; n *= 2) {
    const int reflected = x <= -0.5, small = !reflected && x < 0.5;
    int e, exponent = rm_trigamma_mp(v, reflected ? -x : x, reflected || small, n, &err);
    if (small) {
      const uint64_t m = rm_decompose(x, &e);
      rm_mp_from_double(t, x, 0, n);
      rm_mp_mul(t, t, t, n);
      rm_mp_mul(v, v, t, n);
      rm_mp_set(w, 1, n);
      rm_mp_add(w, w, v, n);
      rm_mp_shift_down(w, w, 4, n);
      rm_mp_from_integer(t, m, -53, n);
      rm_mp_mul(t, t, t, n);
      rm_mp_div(v, w, t, n);
      err = (err / 4 + 6 * (uint64_t)n + 12) / 4 + 3 * (uint64_t)n + 9;
      exponent = 4 - 2 * (e + 53);
    } else if (reflected) {
      const uint64_t m = rm_decompose(part, &e);
      const int k = -(e + 53); /* at least 0 */
      uint64_t sixteenth[RM_MP_LIMBS];
      rm_gamma_mp_turn(w, 0, part, n);
      rm_mp_from_integer(t, m, -53, n);
      rm_mp_mul(t, t, w, n);
      rm_mp_mul(t, t, t, n);
      rm_mp_from_integer(sixteenth, 1, -4, n);
      rm_mp_div(w, sixteenth, t, n);
      rm_mp_shift_down(v, v, 4 + 2 * k - exponent, n);
      rm_mp_sub(v, w, v, n);
      err = err / 16 + 14 * RM_GAMMA_MP_TURN_ERR(n) + 20 * (uint64_t)(n + 1) + 4;
      exponent = 4 + 2 * k;
    }
    if (rm_mp_round(0, v, exponent, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
