/* lgamma in multiprecision fixed point (fp/mp.h), up to RM_GAMMA_MP_MAX limbs, and what digamma shares with it: Stirling's
 * series from 256 on, the factors or reciprocals below, reflection for negative arguments.
 *
 * Values at integers from 3 on are logarithms of integers, transcendental by Lindemann's theorem. No theorem is known for
 * other arguments: not even whether log(pi)/2, the value at 1/2, is irrational. Should a value be undecided with 512 bits,
 * the result is the lower end of its interval, rounded. */
#pragma once

#include "../log/log_mp.h"
#include "lgamma_mp_tables.h"

#define RM_GAMMA_MP_MAX 8

/* y = x + shift = Y 2^E with Y in [1/2, 1) within 2 units, E >= 9: shift = 0 for x >= 256, else y is in [256, 257). */
struct rm_gamma_shifted {
  uint64_t y[RM_MP_LIMBS];
  int e, shift;
};

/* r = j + x > 0, -1/2 < x < 256, within a unit. */
RM_FN void rm_gamma_mp_plus(uint64_t *r, double x, uint64_t j, int n) {
  uint64_t t[RM_MP_LIMBS];
  rm_mp_from_double(t, x, 0, n);
  rm_mp_set(r, j, n);
  if (x < 0.0) rm_mp_sub(r, r, t, n);
  else rm_mp_add(r, r, t, n);
}

/* For finite x > -1/2 other than 0. */
RM_COLD void rm_gamma_mp_shift(struct rm_gamma_shifted *s, double x, int n) {
  s->shift = 0;
  if (x >= 256.0) {
    const uint64_t m = rm_decompose(x, &s->e);
    s->e += 53;
    rm_mp_from_integer(s->y, m, -53, n);
    return;
  }
  s->shift = x < 0.0 ? 257 : 256 - (int)x;
  s->e = 9;
  rm_gamma_mp_plus(s->y, x, (uint64_t)s->shift, n);
  rm_mp_shift_down(s->y, s->y, 9, n);
}

/* u = 2^RM_GAMMA_MP_BASE/y < 1/2 within 5 units: cut, beside 2 units of Y times u/Y < 1. (A power of two that is cut to 0 is
 * below one unit.) */
RM_FN void rm_gamma_mp_inverse(uint64_t *u, const struct rm_gamma_shifted *s, int n) {
  uint64_t one[RM_MP_LIMBS];
  rm_mp_from_integer(one, 1, RM_GAMMA_MP_BASE - s->e, n);
  rm_mp_div(u, one, s->y, n);
}

/* The numbers of a table from its entry k on, cut to n limbs: below one unit short. */
RM_FN void rm_gamma_mp_entry(uint64_t *r, const uint64_t *table, int k, int n) {
  for (int i = 0; i < n; i++) r[i] = table[RM_GAMMA_MP_LIMBS * (k + 1) - n + i];
  r[n] = 0;
}

/* plus and minus get the terms |B_2k|/(2k) y^-2k with odd resp. even k, divided by 2k - 1 if `divided`; each is within 54 (n
 * + 4) units.
 *
 * u is 5 off, w = u^2 < 1/4 n + 1 + 5 = n + 6; a power of w n + 1 and (n + 6)/4 more than a quarter of the one before: below
 * 2 n +
 * 5. A term is n + 1 for its product, one for the table's entry, 2 n + 5 times an entry below 2^-17 and one for the division:
 * below n + 4. 50 terms; from where the power is computed as 0 on, together less than two units. What 50 terms leave out is
 * below the next one (y > 0), 2^-520. */
RM_COLD void rm_gamma_mp_series(uint64_t *plus, uint64_t *minus, const struct rm_gamma_shifted *s, int divided, int n) {
  uint64_t w[RM_MP_LIMBS], p[RM_MP_LIMBS], t[RM_MP_LIMBS];
  rm_gamma_mp_inverse(t, s, n);
  rm_mp_mul(w, t, t, n);
  rm_mp_copy(p, w, n);
  rm_mp_set(plus, 0, n);
  rm_mp_set(minus, 0, n);
  for (int k = 0; k < RM_GAMMA_MP_TERMS && rm_mp_length(p, n) > 0; k++) {
    uint64_t *const to = k % 2 ? minus : plus;
    rm_gamma_mp_entry(t, rm_gamma_mp_series_table, k, n);
    rm_mp_mul(t, t, p, n);
    if (divided) rm_mp_div_small(t, t, (uint64_t)(2 * k + 1), n);
    rm_mp_add(to, to, t, n);
    rm_mp_mul(p, p, w, n);
  }
}

/* plus - minus, its size; returns 1 when it is negative. */
RM_FN int rm_gamma_mp_difference(uint64_t *v, const uint64_t *plus, const uint64_t *minus, int n) {
  const int negative = rm_mp_less(plus, minus, n);
  if (negative) rm_mp_sub(v, minus, plus, n);
  else rm_mp_sub(v, plus, minus, n);
  return negative;
}

/* v = |log(|x| (x + 1) ... (x + shift - 1))| within *err units; returns 1 when the logarithm is negative.
 *
 * The product is kept as p 2^e, p in [1/2, 1). It begins with the significand of x, exactly; a factor, a unit off, is above
 * 1/2: the product is n + 1 units short, where it is above 1/4, and the factor a unit short, 2 relatively: below 4 n + 6
 * relatively; moving it to [1/2, 1) cuts a unit, 2 relatively. So 257 factors leave p within 257 (4 n + 8) units. */
RM_COLD int rm_gamma_mp_log_product(uint64_t *v, double x, int shift, int n, uint64_t *err) {
  uint64_t p[RM_MP_LIMBS], f[RM_MP_LIMBS];
  int e, negative;
  const uint64_t m = rm_decompose(x, &e);
  int64_t exponent = (int64_t)e + 53;
  rm_mp_from_integer(p, m, -53, n);
  for (int j = 1; j < shift; j++) {
    rm_gamma_mp_plus(f, x, (uint64_t)j, n);
    rm_mp_mul(p, p, f, n);
    if (p[n]) {
      const int down = 64 - rm_clz64(p[n]);
      rm_mp_shift_down(p, p, down, n);
      exponent += down;
    } else {
      const int up = rm_clz64(p[n - 1]); /* at most 1 */
      rm_mp_shift_up(p, p, up, n);
      exponent -= up;
    }
  }
  negative = rm_log_mp_of(v, p, exponent, 257 * (4 * (uint64_t)n + 8), n, err);
  return negative;
}

/* plus 2^E - minus 2^E = lgamma x within *err units of 2^E, for finite x > -1/2 other than 0; returns E.
 *
 * lgamma x = (y - 1/2) log y - y + log(2 pi)/2 + S - log p, each term times 2^-E; S = y times the series. Errors: Y -
 * 2^(-E-1) is 3 off, times log y < 711; log y times Y; the product n + 1; Y in the sum 2; the constant, moved, 2; the series,
 * times Y < 1, 54 (n + 4), 2 for Y and n + 1 for the product, of both signs; log p, moved, 1 beside its error times 2^-9. */
RM_COLD int rm_lgamma_mp(uint64_t *plus, uint64_t *minus, double x, int n, uint64_t *err) {
  struct rm_gamma_shifted s;
  uint64_t t[RM_MP_LIMBS], a[RM_MP_LIMBS], b[RM_MP_LIMBS], product_err = 0;
  rm_gamma_mp_shift(&s, x, n);
  rm_log_mp_of(t, s.y, s.e, s.shift ? 2 : 0, n, err);
  rm_mp_from_integer(a, 1, -s.e - 1, n);
  rm_mp_sub(a, s.y, a, n);
  rm_mp_mul(plus, a, t, n);
  rm_mp_copy(minus, s.y, n);
  rm_gamma_mp_entry(t, rm_gamma_mp_half_log_2pi, 0, n);
  rm_mp_shift_down(t, t, s.e, n);
  rm_mp_add(plus, plus, t, n);
  rm_gamma_mp_series(a, b, &s, 1, n);
  rm_mp_mul(a, a, s.y, n);
  rm_mp_add(plus, plus, a, n);
  rm_mp_mul(b, b, s.y, n);
  rm_mp_add(minus, minus, b, n);
  if (s.shift) {
    const int negative = rm_gamma_mp_log_product(t, x, s.shift, n, &product_err);
    rm_mp_shift_down(t, t, s.e, n);
    if (negative) rm_mp_add(plus, plus, t, n);
    else rm_mp_add(minus, minus, t, n);
  }
  *err += product_err / 512 + 112 * (uint64_t)(n + 4) + 2200;
  return s.e;
}

/* sine = sin(pi r)/(pi r), and cosine = cos(pi r) unless it is NULL, for 2^-53 <= |r| <= 1/2: within RM_GAMMA_MP_TURN_ERR
 * units.
 *
 * pi r < 1.58 is n + 3 off, its square z < 2.47 5 n + 11; p_1 = z/6 is (5 n + 11)/6 + 1 off, and the next ones (n + 1 + 2.47
 * e + (5 n + 11) p)/20 + 1 with p < 1/2, e before: all below 2 n + 5; of the cosine, z/2, (5 n + 11)/2 + 1, and (n + 1 + 2.47
 * e + (5 n + 11) 1.3)/12 + 1: below 3 n + 7. Fewer than 60 terms, and 3 n + 7 for the rest of the series once a term is
 * computed as 0. */
#define RM_GAMMA_MP_TURN_ERR(n) (60 * (3 * (uint64_t)(n) + 8))
RM_COLD void rm_gamma_mp_turn(uint64_t *sine, uint64_t *cosine, double r, int n) {
  uint64_t z[RM_MP_LIMBS], p[RM_MP_LIMBS], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  rm_mp_from_double(p, r, 0, n);
  rm_mp_mul(z, rm_mp_pi + (RM_MP_TABLE_LIMBS - 1 - n), p, n);
  rm_mp_mul(z, z, z, n);
  for (int even = 0; even <= (cosine != 0); even++) {
    rm_mp_set(p, 1, n);
    rm_mp_set(plus, 1, n);
    rm_mp_set(minus, 0, n);
    for (int k = 1; rm_mp_length(p, n) > 0; k++) {
      uint64_t *const to = k % 2 ? minus : plus;
      rm_mp_mul(p, p, z, n);
      rm_mp_div_small(p, p, (uint64_t)(2 * k * (even ? 2 * k - 1 : 2 * k + 1)), n);
      rm_mp_add(to, to, p, n);
    }
    if (rm_gamma_mp_difference(even ? cosine : sine, plus, minus, n)) rm_mp_set(even ? cosine : sine, 0, n); /* cos(pi/2) */
  }
}

/* lgamma x correctly rounded, for finite x other than 0, 1, 2 and the poles; part = |x| - the nearest integer for x <= -1/2.
 *
 * There lgamma x = -log(|x| |part| S) - lgamma |x|. The product of the significands of |x| and part is n + 1 short, that with
 * S > 0.63 as much and S's error off. */
RM_COLD uint64_t rm_lgamma_mp_round(double x, double part, int format, rm_mode mode, uint32_t *flags) {
  uint64_t plus[RM_MP_LIMBS], minus[RM_MP_LIMBS], v[RM_MP_LIMBS], t[RM_MP_LIMBS], err, log_err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_GAMMA_MP_MAX; n *= 2) {
    const int reflected = x <= -0.5, e = rm_lgamma_mp(plus, minus, reflected ? -x : x, n, &err);
    int negative = rm_gamma_mp_difference(v, plus, minus, n);
    if (reflected) {
      int ea, er;
      const uint64_t ma = rm_decompose(x, &ea), mr = rm_decompose(part, &er);
      rm_gamma_mp_turn(t, 0, part, n);
      rm_mp_from_integer(plus, ma, -53, n);
      rm_mp_from_integer(minus, mr, -53, n);
      rm_mp_mul(plus, plus, minus, n);
      rm_mp_mul(plus, plus, t, n);
      const uint64_t off = 2 * (uint64_t)(n + 1) + RM_GAMMA_MP_TURN_ERR(n);
      const int below = rm_log_mp_of(t, plus, (int64_t)ea + er + 106, off, n, &log_err);
      rm_mp_shift_down(t, t, e, n);
      /* v + log, negated. */
      if (negative == below) {
        rm_mp_add(v, v, t, n);
        negative = !negative;
      } else {
        rm_mp_copy(plus, v, n);
        negative = !(rm_gamma_mp_difference(v, plus, t, n) ? below : negative);
      }
      err += log_err / 512 + 2;
    }
    if (rm_mp_round(negative, v, e, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
