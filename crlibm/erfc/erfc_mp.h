/* W(a) = exp(a^2) erfc(a), and erfc, in multiprecision fixed point (fp/mp.h): values with stated errors, and the correctly
 * rounded result of erfc. The core of gelu, its gradient, ndtr and the inverses as well: a = m 2^(e - half/2), half = 0 or
 * 1, 0 < a < 45; |x| = m 2^e. */
#pragma once

#include "../erf/erf_mp.h"

/* a, less than n + 66 units short for a < 45 (one by |x|, times sqrt(1/2); n + 1 by the product, |x| < 91 by the
 * constant), and less than n + 9 for a < 5; exact or one unit short when half = 0. */
RM_LONG void rm_erfc_mp_argument(uint64_t *a, uint64_t m, int e, int half, int n) {
  rm_mp_from_integer(a, m, e, n);
  if (half) rm_mp_mul(a, a, rm_mp_sqrt_half + (RM_MP_TABLE_LIMBS - 1 - n), n);
}

/* w = W(a) for a^2 < 16.1, from y = a^2, 2 units short at most (doubled on return). Returns the error in units.
 *
 * W = exp(y) - a C S(y), C = 2/sqrt(pi) (erf_mp.h). With f 2^k = exp(y), f within E, -1 <= k <= 23; U = 2^(k+1) >
 * exp(y)/1.01. a C S < exp(y), C S <= 1.13 exp(y) (T_k <= y^k/k!), a < 4.02. S is off by S B, C by a unit, the product by
 * n + 1; times a, off by n + 9: a (C S B + S + n + 1) + 1.13 exp(y) (n + 9) + n + 1 < 1.01 U (B + 1 + 1.13 (n + 9)) + 5.02
 * (n + 1); f 2^k: E U/2, or E/2 + 1 for k = -1. Sum below U (E + 2 B + 3 n + 20) + 6 n + 7. */
RM_LONG uint64_t rm_erfcx_mp_series(uint64_t *w, const uint64_t *a, uint64_t *y, int n) {
  uint64_t s[RM_MP_LIMBS];
  const int k = rm_exp_mp(w, y, 0, n);
  if (k < 0) rm_mp_shift_down(w, w, -k, n);
  for (int i = 0; i < k; i++) rm_mp_double(w, w, n);
  rm_mp_double(y, y, n);
  const uint64_t b = rm_erf_mp_series(s, y, n);
  rm_mp_mul(s, s, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(s, s, a, n);
  rm_mp_sub(w, w, s, n);
  return ((rm_exp_mp_err(n) + 2 * b + 3 * (uint64_t)n + 20) << (k + 1)) + 6 * (uint64_t)n + 7;
}

/* w = W(a) for 4 <= a < 45, a within n + 66 units. Returns the error in units.
 *
 * W = 1/(sqrt(pi) r_0), r_(k-1) = a + (k/2)/r_k (DLMF 7.9.3), from r_N downwards. r_k lies between a and a + (k+1)/(2a),
 * and the step is monotone: begun with this interval at k = N + N/8 + 16, in double with roundings outwards, it gives
 * bounds [low, high] of every r_k; their middle is the first value at k = N. An error d of r_k becomes at most |d|
 * (k/2)/(low (low - |d|)). It is kept in two parts: `cut`, a real number, what is left of the start; and `units`, to which
 * each step adds k/2 + 1 (the quotient, its multiple, halving) and the error of a.
 *
 * N is such that the product of all (k/2)/r_k^2 = (r_(k-1) - a)/r_k, about that of (s - a)/(s + a) < exp(-2a/s), s =
 * sqrt(a^2 + 2k), is below 2^-p, p = 64 n + 16: 2 a (sqrt(a^2 + 2N) - a) >= p ln2. Should this estimate fail, the error
 * says so. At the end W is off by C/2 < 0.57 times the error of 1/r_0, and n + 3 for its product. */
RM_LONG uint64_t rm_erfcx_mp_fraction(uint64_t *w, const uint64_t *a, int n) {
  uint64_t r[RM_MP_LIMBS], one[RM_MP_LIMBS], u[RM_MP_LIMBS + 1];
  const double down = 1.0 - 0x1p-48, up = 1.0 + 0x1p-48;
  const double ad = (double)a[n] + (double)a[n - 1] * 0x1p-64, p = (64.0 * n + 16.0) * 0.69315;
  const int levels = 2 + (int)(0.5 * p + p * p / (8.0 * ad * ad));
  int k = levels + levels / 8 + 16;
  double low = ad * down, high = (ad + (k + 1) / (2.0 * ad)) * up, units = 0.0;
  for (; k > levels; k--) {
    const double l = (ad + 0.5 * k / high) * down;
    high = (ad + 0.5 * k / low) * up;
    low = l;
  }
  double cut = high - low;
  rm_mp_from_double(r, 0.5 * (low + high), 0, n);
  rm_mp_set(one, 1, n);
  for (; k > 0; k--) {
    rm_mp_div(u, one, r, n);
    rm_mp_mul_small(u, u, (uint64_t)k, n);
    rm_mp_shift_down(u, u, 1, n);
    rm_mp_add(r, a, u, n);
    /* cut stays far below 1: it begins so, and low > 4 */
    const double factor = 0.5 * k / (low * (low - cut - 0x1p-20)) * up, l = (ad + 0.5 * k / high) * down;
    cut *= factor;
    units = units * factor + 0.5 * k + (n + 68);
    high = (ad + 0.5 * k / low) * up;
    low = l;
  }
  rm_mp_div(u, one, r, n);
  rm_mp_mul(w, u, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_shift_down(w, w, 1, n);
  /* 0.57/16 < 1/16 of the error of r_0; cut in units, by two factors, since 2^1024 overflows. */
  const double total = (cut * rm_pow2(32 * n) * rm_pow2(32 * n) + units) * 0x1p-4 + (n + 8);
  return total < 0x1p62 ? (uint64_t)total : UINT64_C(1) << 62;
}

/* w = W(a), 0.008 < w <= 1, within *err units. */
RM_LONG void rm_erfcx_mp_of(uint64_t *w, uint64_t m, int e, int half, int n, uint64_t *err) {
  uint64_t a[RM_MP_LIMBS], y[RM_MP_LIMBS];
  rm_erfc_mp_argument(a, m, e, half, n);
  if (a[n] >= 4) {
    *err = rm_erfcx_mp_fraction(w, a, n);
  } else {
    rm_erf_mp_square_of(y, m, e, half, n);
    *err = rm_erfcx_mp_series(w, a, y, n);
  }
}
RM_FN void rm_erfcx_mp(uint64_t *w, double x, int half, int n, uint64_t *err) {
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_erfcx_mp_of(w, m, e, half, n, err);
}

/* v 2^k = erfc(a), v within *err units; k <= -1, v > 0.008. Returns k.
 *
 * f 2^k = exp(-a^2), f < 2.01 off by E; W <= 1 by e: E + 2.01 e + n + 1. */
RM_LONG int rm_erfc_mp_of(uint64_t *v, uint64_t m, int e, int half, int n, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS];
  rm_erfcx_mp_of(v, m, e, half, n, err);
  rm_erf_mp_square_of(y, m, e, half, n);
  const int k = rm_exp_mp(f, y, 1, n);
  rm_mp_mul(v, v, f, n);
  *err = rm_exp_mp_err(n) + 3 * *err + (uint64_t)n + 2;
  return k;
}
RM_FN int rm_erfc_mp(uint64_t *v, double x, int half, int n, uint64_t *err) {
  int e;
  const uint64_t m = rm_decompose(x, &e);
  return rm_erfc_mp_of(v, m, e, half, n, err);
}

/* v <- 2 - v 2^k, k <= 0, v 2^k < 2: at most one unit more than 2^k times the error of v. */
RM_FN void rm_erfc_mp_reflect(uint64_t *v, int k, int n) {
  uint64_t two[RM_MP_LIMBS];
  rm_mp_shift_down(v, v, -k, n);
  rm_mp_set(two, 2, n);
  rm_mp_sub(v, two, v, n);
}

/* erfc(x) correctly rounded, for 2^-60 <= |x| < 32. */
RM_COLD uint64_t rm_erfc_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int k = rm_erfc_mp(v, x, 0, n, &err);
    if (x < 0.0) {
      rm_erfc_mp_reflect(v, k, n);
      k = 0;
      err++;
    }
    if (rm_mp_round(0, v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
