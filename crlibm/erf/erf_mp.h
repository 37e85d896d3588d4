/* erf in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../exp/exp_mp.h"

/* y = (a 2^e)^2 2^-half < 2^64, half = 0 or 1, two units short at most: from the exact square, in two halves. */
RM_LONG void rm_erf_mp_square_of(uint64_t *y, uint64_t a, int e, int half, int n) {
  uint64_t t[RM_MP_LIMBS];
  const rm_u128 square = (rm_u128)a * a;
  rm_mp_from_integer(y, (uint64_t)(square >> 64), 2 * e + 64 - half, n);
  rm_mp_from_integer(t, (uint64_t)square, 2 * e - half, n);
  rm_mp_add(y, y, t, n);
}
/* The same for x = a 2^e. */
RM_FN void rm_erf_mp_square(uint64_t *y, double x, int half, int n) {
  int e;
  const uint64_t a = rm_decompose(x, &e);
  rm_erf_mp_square_of(y, a, e, half, n);
}

/* s = S(y) = sum of T_k, T_k = (2y)^k/(2k+1)!!, from w = 2y < 73, 4 units short at most; returns B, s being within S B
 * units.
 *
 * The error of w has the effect 4 sum k T_k/w = 4 sum k/(2k+1) T_(k-1) < 2 S. A step T_k = T_(k-1) w/(2k+1) adds c =
 * (n+1)/3 + 1 = (n+4)/3; T_j takes it over times T_j/T_k, and because the ratios of successive terms fall, sum_j>=k
 * T_j/T_k <= S/T_0 = S. With N terms: S (N c + 2). The loop ends when T is computed as 0 and the ratio is at most 1/2; the
 * true T is then below 1 + N c (T_j/T_k <= 1 for a last term, the smallest), and so is the rest of the series. Altogether
 * S (2 N c + 3) =: S B. */
RM_LONG uint64_t rm_erf_mp_series(uint64_t *s, const uint64_t *w, int n) {
  uint64_t t[RM_MP_LIMBS], j = 3;
  rm_mp_set(t, 1, n);
  rm_mp_set(s, 1, n);
  while (rm_mp_length(t, n) > 0 || 2 * (w[n] + 1) > j) {
    rm_mp_mul(t, t, w, n);
    rm_mp_div_small(t, t, j, n);
    rm_mp_add(s, s, t, n);
    j += 2;
  }
  return j * (uint64_t)(n + 4) / 3 + 4; /* N <= j/2 */
}

/* v 2^scale = erf(x), x = a 2^(e - half/2), half = 0 or 1, 0 < x <= 6, 0.1 < v < 2.3; v within *err units. Returns the
 * scale.
 *
 * erf x = x C exp(-y) S(y), C = 2/sqrt(pi), y = x^2 (DLMF 7.6.2): all terms positive, and the factor x is kept apart as m
 * 2^scale, 1 <= m < 2, so tiny arguments lose nothing.
 *
 * Errors in units. y is 2 short at most, within the 8 that rm_exp_mp allows; S is within S B.
 *
 * With f 2^k = exp(-y), k <= -1, 1 <= f <= 2.01: S' = S 2^k, cut by a unit, is within S' B + 1; f S' = exp(-y) S =
 * sqrt(pi)/2 erf(x)/x <= 1, so S' <= 1. The product f S' is off by f (S' B + 1) + S' E + n + 1 <= B + E + n + 3.01 (E the
 * error of f; products of two errors are far below a unit), C by one unit; times C < 1.13, times m < 2, each product n +
 * 1: below 2.26 (B + E + n + 4) + 2 + 3 (n + 1) <= 3 B + 5 E + 6 n + 14. With half, sqrt(1/2), off by a unit, makes this
 * smaller and adds 2.3 + n + 1. */
RM_LONG int rm_erf_mp_of(uint64_t *v, uint64_t a, int e, int half, int n, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS], m[RM_MP_LIMBS], s[RM_MP_LIMBS], f[RM_MP_LIMBS];
  const int top = 63 - rm_clz64(a);
  rm_mp_from_integer(m, a, -top, n);
  rm_erf_mp_square_of(y, a, e, half, n); /* below 2^-64 n it is 0 (within a unit) */
  const int k = rm_exp_mp(f, y, 1, n);
  rm_mp_double(y, y, n);
  const uint64_t b = rm_erf_mp_series(s, y, n);
  rm_mp_shift_down(s, s, -k, n); /* k <= -1 */
  rm_mp_mul(v, f, s, n);
  rm_mp_mul(v, v, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(v, v, m, n);
  if (half) rm_mp_mul(v, v, rm_mp_sqrt_half + (RM_MP_TABLE_LIMBS - 1 - n), n);
  *err = 3 * b + 5 * rm_exp_mp_err(n) + 7 * (uint64_t)n + 18;
  return e + top;
}
/* The same for |x|. */
RM_FN int rm_erf_mp(uint64_t *v, double x, int n, uint64_t *err) {
  int e;
  const uint64_t a = rm_decompose(x, &e);
  return rm_erf_mp_of(v, a, e, 0, n, err);
}

/* erf(x) correctly rounded, for 0 < |x| <= 6. */
RM_COLD uint64_t rm_erf_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int e = rm_erf_mp(v, x, n, &err);
    if (rm_mp_round(x < 0.0, v, e, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
