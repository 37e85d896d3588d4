/* softplus, log_sigmoid and logaddexp in multiprecision fixed point (fp/mp.h): log(1 + e^-d) with a stated relative error,
 * and the correctly rounded sum from it. */
#pragma once

#include "../exp/exp_mp.h"

/* The error of rm_softplus_mp in units (derived there). */
RM_FN uint64_t rm_softplus_mp_err(int n) { return 3 * rm_exp_mp_err(n); }

/* f 2^k = log(1 + e^-d) for 0 <= d <= 1100 known within 8 units, f within rm_softplus_mp_err(n) units, 0.69 < f < 2.02.
 * Returns k, -1600 < k < 0.
 *
 * t = e^-d = g 2^k; log(1 + t) = 2 atanh(s), s = t/(2 + t) <= 1/3, so f = 4 v S with v = g/(2 (2 + t)), s = 2 v 2^k and
 * S = 1 + q/3 + q^2/5 + ..., q = s^2 <= 1/9, S < 1.04. All of it is relative to 2^k, so a small t costs no precision.
 *
 * Errors in units, G = rm_exp_mp_err(n) that of g. t: G + 1 at most; 2 (2 + t) twice that; v, in [1/6, 1/2]: G/4 + (G +
 * 1)/4 + 1; s: G + 3.5; q: 2/3 of that and n + 1, below 0.67 G + n + 3.4 = Q. The powers p_i = p_(i-1) q have e_i <=
 * e_(i-1)/9 + 9^-(i-1) Q + n + 1 <= i 9^-(i-1) Q + 1.13 (n + 1); sum e_i/(2i + 1) is below 0.43 Q + (21 n + 2)(0.38 (n + 1) +
 * 1), as at most 21 n + 2 of them are not computed as 0, and the rest of the series is below 2 (n + 2). f: 4 times 1/2 of
 * that, 4.16 times v's, and 4 (n + 1): below 2.7 G + 17 n^2 + 70 n + 40. With n >= 1, G >= 2^8 (8 n + 8)(n + 6): below 3
 * G. */
RM_FN int rm_softplus_mp(uint64_t *f, const uint64_t *d, int n) {
  uint64_t g[RM_MP_LIMBS], v[RM_MP_LIMBS], q[RM_MP_LIMBS], p[RM_MP_LIMBS], sum[RM_MP_LIMBS];
  const int k = rm_exp_mp(g, d, 1, n); /* k < 0 */
  rm_mp_shift_down(q, g, -k, n);
  q[n] += 2;
  rm_mp_double(q, q, n);
  rm_mp_div(v, g, q, n);
  rm_mp_double(q, v, n);
  rm_mp_shift_down(q, q, -k, n);
  rm_mp_mul(q, q, q, n);
  rm_mp_copy(p, q, n);
  rm_mp_set(sum, 1, n);
  for (uint64_t i = 3; rm_mp_length(p, n) > 0; i += 2) {
    rm_mp_div_small(g, p, i, n);
    rm_mp_add(sum, sum, g, n);
    rm_mp_mul(p, p, q, n);
  }
  rm_mp_mul(f, v, sum, n);
  rm_mp_double(f, f, n);
  rm_mp_double(f, f, n);
  return k;
}

/* r = |x|, rounded down; below 1 unit. */
RM_FN void rm_softplus_mp_size(uint64_t *r, double x, int scale, int n) {
  rm_mp_set(r, 0, n);
  if (x != 0.0) rm_mp_from_double(r, x, scale, n);
}

/* (-1)^flip (big + log(1 + e^(small - big))) correctly rounded, for big >= small and d = big - small <= 1000, |big| < 2^56
 * e^-d; under stochastic rounding 2^33 times as much, for which the sum is taken in units 2^40 times as large. The value
 * is not a boundary of rounding (softplus_accurate.h). */
RM_COLD uint64_t rm_softplus_mp_round(int flip, double big, double small, int format, rm_mode mode, uint32_t *flags) {
  uint64_t d[RM_MP_LIMBS], f[RM_MP_LIMBS], b[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative = flip;
    rm_softplus_mp_size(b, big, 0, n);
    rm_softplus_mp_size(d, small, 0, n);
    if (big >= 0.0 && small <= 0.0) rm_mp_add(d, b, d, n);
    else if (big > 0.0) rm_mp_sub(d, b, d, n);
    else rm_mp_sub(d, d, b, n);
    int k = rm_softplus_mp(f, d, n);
    if (rm_mode_kind(mode) == RM_STOCHASTIC) {
      rm_mp_shift_down(f, f, 40, n);
      k += 40;
    }
    rm_softplus_mp_size(b, big, -k, n); /* 2^-k < 2.02 e^d: below 2^58 */
    if (big >= 0.0) rm_mp_add(f, f, b, n);
    else if (rm_mp_less(b, f, n)) rm_mp_sub(f, f, b, n);
    else {
      rm_mp_sub(f, b, f, n);
      negative = !flip;
    }
    if (rm_mp_round(negative, f, k, rm_softplus_mp_err(n) + 1, n, format, mode, flags, &result)) break;
  }
  return result;
}
