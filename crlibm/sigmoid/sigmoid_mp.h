/* The sigmoid and related functions (sigmoid_shapes.h) in multiprecision fixed point (fp/mp.h): a value with a stated
 * error. */
#pragma once

#include "../exp/exp_mp.h"
#include "sigmoid_shapes.h"

/* |t| and p within RM_SIGMOID_ARGUMENT_ERR units, for |x| <= 2^11; for the cubic one |x| <= 32.
 *
 * The cubic: t = c (x + e x^3), c = 2 sqrt(2/pi), e = 0.044715 = 8943/200000, p = c (x + 3 e x^3). Errors in units, each
 * quantity too small: x one (n = 1; else none), x^2 64 + n + 1, x^3 32 times that, + 1024 + n + 1 <= 3200 + 33 n; times e
 * (cut once) 145 + 2 n; times 3, with x, 436 + 6 n. c is one short, times x + 3 e x^3 < 4430; the product n + 1. So p is
 * within 1.6 (437 + 6 n) + 4430 + n + 1 < 5131 + 11 n, and t within less. */
#define RM_SIGMOID_ARGUMENT_ERR 5400
RM_FN void rm_sigmoid_mp_argument(uint64_t *t, uint64_t *p, double x, int argument, int n) {
  uint64_t s[RM_MP_LIMBS + 2];
  rm_mp_from_double(p, x, argument == RM_SIGMOID_2X, n);
  rm_mp_copy(t, p, n);
  if (argument != RM_SIGMOID_CUBIC) return;
  rm_mp_mul(s, p, p, n);
  rm_mp_mul(s, s, p, n);
  rm_mp_mul_small(s, s, 8943, n);
  rm_mp_div_small(s, s, 200000, n);
  rm_mp_add(t, t, s, n);
  rm_mp_mul_small(s, s, 3, n);
  rm_mp_add(p, p, s, n);
  rm_mp_mul(t, t, rm_mp_sqrt_8_pi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(p, p, rm_mp_sqrt_8_pi + (RM_MP_TABLE_LIMBS - 1 - n), n);
}

/* The error of rm_sigmoid_mp in units (derived there). */
RM_FN uint64_t rm_sigmoid_mp_err(int n) { return 4 * (rm_exp_mp_err(n) + 3 * RM_SIGMOID_ARGUMENT_ERR); }

/* |f| = v 2^*scale for finite x != 0, |t| <= 1500, and for x > 0 |t| <= 40 (RM_SIGMOID_VALUE), |t| <= 45 (RM_SIGMOID_SWISH);
 * v < 2 within rm_sigmoid_mp_err(n) units. The result is 1 when f < 0.
 *
 * Errors in units. f 2^k = w with k <= -1 and 1 <= f < 2.01; f is off by rm_exp_mp_err(n) for the t that was computed, and by
 * 2.02 times that one's error: E together. So w is off by E 2^k + 1 <= E/2 + 1, as D = 1 + w is; D^2 by 4 times that + n + 2.
 *   1/D             E/2 + 2
 *   (f/4)/D         E/4 + 1 + 0.51 (E/2 + 1) + 1
 *   (f/4)/D^2       E/4 + 1 + 0.51 (2 E + n + 6) + 1
 *   x > 0           p <= 3 |t|, so p 2^k <= p w <= 3/e: p w is off by 1.11 E + p + 5400 + n + 1 and N = D + p w by E/2 + 1
 *                   more; N/4 < D^2, and (N/4)/D^2 by a quarter of that + 1 + 0.79 (2 E + n + 6) + 1 < 2.1 E + 6000
 *   x < 0           m = |D - p| is off by E/2 + 5401; with j bits of integer part f m 2^-(j+2) < 1 is off by (m E + 2.01 (E/2
 *                   + 5401) + n + 1) 2^-(j+2) + 1 < 0.51 E + 2730, its quotient by 2 E + n + 6 + 1 more
 * All are below 4 E, since E > 16000. Each numerator is smaller than its divisor: D > 1 where 1/D is taken. */
RM_FN int rm_sigmoid_mp(uint64_t *v, int64_t *scale, double x, int argument, int shape, int n) {
  uint64_t t[RM_MP_LIMBS], p[RM_MP_LIMBS], f[RM_MP_LIMBS], d[RM_MP_LIMBS], one[RM_MP_LIMBS];
  int negative = 0;
  rm_sigmoid_mp_argument(t, p, x, argument, n);
  const int k = rm_exp_mp(f, t, 1, n);
  rm_mp_shift_down(t, f, -k, n); /* w */
  rm_mp_set(one, 1, n);
  rm_mp_add(d, t, one, n);
  if (shape == RM_SIGMOID_VALUE && x > 0.0) {
    rm_mp_copy(f, one, n);
    *scale = 0;
  } else if (shape != RM_SIGMOID_SWISH) {
    rm_mp_shift_down(f, f, 2, n);
    *scale = k + 2;
  } else if (x > 0.0) {
    rm_mp_mul(f, p, t, n);
    rm_mp_add(f, f, d, n);
    rm_mp_shift_down(f, f, 2, n);
    *scale = 2;
  } else {
    negative = rm_mp_less(d, p, n);
    if (negative) rm_mp_sub(p, p, d, n);
    else rm_mp_sub(p, d, p, n);
    const int bits = p[n] ? 64 - rm_clz64(p[n]) : 0;
    rm_mp_mul(f, f, p, n);
    rm_mp_shift_down(f, f, bits + 2, n);
    *scale = k + bits + 2;
  }
  if (shape != RM_SIGMOID_VALUE) rm_mp_mul(d, d, d, n);
  rm_mp_div(v, f, d, n);
  return negative;
}

/* g 2^shift f(x) correctly rounded, for such x and finite g != 0. The product with g's significand, in [1/2, 1), is n + 1
 * units off. */
RM_COLD uint64_t rm_sigmoid_mp_round(double g, int shift, double x, int argument, int shape, int format, rm_mode mode,
                                     uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], m[RM_MP_LIMBS], result = 0;
  int64_t scale;
  int e;
  const uint64_t significand = rm_decompose(g, &e);
  const int g_negative = (int)(rm_bits64(g) >> 63);
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int negative = rm_sigmoid_mp(v, &scale, x, argument, shape, n);
    rm_mp_from_integer(m, significand, -53, n);
    rm_mp_mul(v, v, m, n);
    const uint64_t err = rm_sigmoid_mp_err(n) + (uint64_t)n + 1;
    if (rm_mp_round(negative ^ g_negative, v, scale + e + 53 + shift, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
