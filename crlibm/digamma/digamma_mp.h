/* digamma in multiprecision fixed point (fp/mp.h), up to RM_GAMMA_MP_MAX limbs, by the parts of lgamma_mp.h.
 *
 * No theorem is known that keeps its values at rational numbers off the boundaries of rounding: at integers they are rational
 * numbers less Euler's constant, of which not even irrationality is known. Should a value be undecided with 512 bits, the
 * result is the lower end of its interval, rounded. */
#pragma once

#include "../lgamma/lgamma_mp.h"

/* plus - minus = digamma x + 1/x for |x| < 1/2, digamma x for x >= 1/2, within *err units; finite x > -1/2.
 *
 * digamma x = log y - 1/(2y) - the series - the sum of 1/(x + j), j from 0 or 1. log y is as rm_log_mp_of has it; 1/(2y) = u
 * 2^-8 a unit; the series 54 (n + 4) for either sign; a reciprocal, x + j >= 1/2 a unit off, 4 for that and a unit for the
 * quotient of 1/4, times 4: 8. */
RM_COLD void rm_digamma_mp(uint64_t *plus, uint64_t *minus, double x, int n, uint64_t *err) {
  struct rm_gamma_shifted s;
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS], t[RM_MP_LIMBS];
  rm_gamma_mp_shift(&s, x, n);
  rm_log_mp_of(plus, s.y, s.e, s.shift ? 2 : 0, n, err);
  rm_gamma_mp_inverse(minus, &s, n);
  rm_mp_shift_down(minus, minus, RM_GAMMA_MP_BASE + 1, n);
  rm_gamma_mp_series(a, b, &s, 0, n);
  rm_mp_add(minus, minus, a, n);
  rm_mp_add(plus, plus, b, n);
  rm_mp_from_integer(a, 1, -2, n);
  for (int j = x < 0.5; j < s.shift; j++) {
    rm_gamma_mp_plus(b, x, (uint64_t)j, n);
    rm_mp_div(t, a, b, n);
    rm_mp_shift_up(t, t, 2, n);
    rm_mp_add(minus, minus, t, n);
  }
  *err += 108 * (uint64_t)(n + 4) + 8 * 257 + 3;
}

/* digamma x correctly rounded, for finite x other than 0 and the poles; part = |x| - the nearest integer for x <= -1/2.
 *
 * |x| < 1/2: digamma x = (x v - 1)/x with v = digamma x + 1/x = digamma(1 + x), |v| < 2: x v is |x| < 1/2 times the error of
 * v, 2 for x and n + 1 for the product off. |x v - 1|, below 2, over 8 and by the significand of x, at least 1/2: twice an
 * eighth of that, and 3. x <= -1/2: digamma x = digamma a + 1/a + cos(pi part)/(part S), a = -x, times 2^-k. With m the
 * significand of part the quotient of (cos/4) by m S >= 0.31 is off by 3.3 times a quarter of the cosine's error, the
 * quotient, at most 0.81, times 3.3 times the n + 1 and the error of m S, and a unit: below four times the latter. 1/a is 3
 * off, moved; digamma a too. */
RM_COLD uint64_t rm_digamma_mp_round(double x, double part, int format, rm_mode mode, uint32_t *flags) {
  uint64_t plus[RM_MP_LIMBS], minus[RM_MP_LIMBS], v[RM_MP_LIMBS], t[RM_MP_LIMBS], w[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_GAMMA_MP_MAX; n *= 2) {
    const int reflected = x <= -0.5;
    int negative, exponent = 0, e;
    rm_digamma_mp(plus, minus, reflected ? -x : x, n, &err);
    negative = rm_gamma_mp_difference(v, plus, minus, n);
    if (x > -0.5 && x < 0.5) {
      rm_mp_from_double(t, x, 0, n);
      rm_mp_mul(v, v, t, n);
      rm_mp_set(w, 1, n);
      if (negative == (x < 0.0)) rm_mp_sub(v, w, v, n); /* x v > 0, below 1 */
      else rm_mp_add(v, w, v, n);
      const uint64_t m = rm_decompose(x, &e);
      rm_mp_from_integer(t, m, -53, n);
      rm_mp_shift_down(w, v, 3, n);
      rm_mp_div(v, w, t, n);
      err = err / 4 + (uint64_t)n + 8;
      exponent = 3 - e - 53;
      negative = x > 0.0;
    } else if (reflected) {
      const uint64_t m = rm_decompose(part, &e), ma = rm_decompose(x, &exponent);
      const int ea = exponent + 53; /* 1/a = 1/4 over a's significand, times 2^(2 - ea) */
      exponent = 2 - (e + 53); /* at least 2 */
      rm_gamma_mp_turn(plus, minus, part, n);
      rm_mp_from_integer(t, m, -53, n);
      rm_mp_mul(t, t, plus, n);
      rm_mp_shift_down(w, minus, 2, n);
      rm_mp_div(plus, w, t, n); /* |cos/(part S)| 2^-exponent, with the sign of part */
      rm_mp_shift_down(v, v, exponent, n);
      rm_mp_set(minus, 0, n);
      rm_mp_from_integer(t, ma, -53, n);
      rm_mp_from_integer(minus, 1, -2, n);
      rm_mp_div(w, minus, t, n);
      const int move = exponent - 2 + ea; /* 0 or more: a >= 1/2 */
      rm_mp_shift_down(w, w, move, n);
      /* v, w and plus with their signs. */
      uint64_t *const first = part < 0.0 ? minus : w;
      rm_mp_set(minus, 0, n);
      rm_mp_add(first, first, plus, n);
      if (negative) rm_mp_add(minus, minus, v, n);
      else rm_mp_add(w, w, v, n);
      negative = rm_gamma_mp_difference(v, w, minus, n);
      err = err / 4 + 4 * (RM_GAMMA_MP_TURN_ERR(n) + (uint64_t)n) + 16;
    }
    if (rm_mp_round(negative, v, exponent, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
