/* erfcx in multiprecision fixed point (fp/mp.h): the asymptotic series, and the correctly rounded result. No theorem says
 * that its values, or those of log_ndtr, are irrational; what is undecided at RM_MP_MAX limbs would be the lower end of its
 * interval. */
#pragma once

#include "../erfc/erfc_mp.h"

/* v 2^scale = W(x), or W(x/sqrt(2))/2 with half, for x >= 45 resp. 63; 0.19 < v < 0.6, v within *err units. Returns the
 * scale.
 *
 * x = X 2^E with X in [1/2, 1), q = 1/(4 X): W = 1/(sqrt(pi) x) T = (2/sqrt(pi)) q T 2^(1-E), T = 1 - y + 3 y^2 - ... with y
 * = 1/(2 x^2) = q^2 2^(3-2E); with half, y is twice that, and 1/sqrt(2) a factor of W/2. y <= 2^-11.95: the terms fall at
 * least by (2k + 1) y as long as k < 2000, and before that the sum ends: that of x = 63 after 230 terms for 16 limbs.
 *
 * Errors in units. q is one short, q^2 n + 2, y 2: its shift is by 8 at least, n + 2 < 2^8. A term t' = (2k + 1) t y is off
 * by (2k + 1) (e y + 2 t + n + 1), e before; where (2k + 1) y < 1/8, below (2k + 1) (n + 4) 8/7: K terms 1.2 K^2 (n + 4).
 * What is left out is below the first term that is computed as 0, with its error: below that again. T <= 1: q T is half of
 * T's error, 2 for q and n + 1 off, its products with the constants, which are below 1.2 and a unit off, 2 (n + 2) more. */
RM_COLD int rm_erfcx_mp_far(uint64_t *v, double x, int half, int n, uint64_t *err) {
  uint64_t q[RM_MP_LIMBS], y[RM_MP_LIMBS], t[RM_MP_LIMBS + 1], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  uint64_t k = 0;
  e += 53;
  rm_mp_from_integer(y, 1, -2, n);
  rm_mp_from_integer(t, m, -53, n);
  rm_mp_div(q, y, t, n);
  rm_mp_mul(y, q, q, n);
  rm_mp_shift_down(y, y, 2 * e - 3 - half, n);
  rm_mp_set(t, 1, n);
  rm_mp_set(plus, 1, n);
  rm_mp_set(minus, 0, n);
  for (;; k++) {
    rm_mp_mul(t, t, y, n);
    rm_mp_mul_small(t, t, 2 * k + 1, n);
    if (rm_mp_length(t, n) == 0) break;
    rm_mp_add(k % 2 ? plus : minus, k % 2 ? plus : minus, t, n);
  }
  rm_mp_sub(plus, plus, minus, n);
  rm_mp_mul(v, q, plus, n);
  rm_mp_mul(v, v, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  if (half) rm_mp_mul(v, v, rm_mp_sqrt_half + (RM_MP_TABLE_LIMBS - 1 - n), n);
  k++;
  *err = 2 * k * k * (uint64_t)(n + 4) + 4 * (uint64_t)(n + 4);
  return 1 - e;
}

/* v 2^scale = erfcx x for -32 < x, x finite and |x| >= 2^-130, within *err units; v > 0.005. Returns the scale.
 *
 * For x < 0 it is 2^(k+1) (f - W 2^-(k+1)) with f 2^k = exp(x^2), k >= -1. */
RM_COLD int rm_erfcx_mp_value(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS];
  if (x >= 45.0) return rm_erfcx_mp_far(v, x, 0, n, err);
  rm_erfcx_mp(v, x, 0, n, err);
  if (x > 0.0) return 0;
  rm_erf_mp_square(y, x, 0, n);
  const int k = rm_exp_mp(f, y, 0, n) + 1;
  rm_mp_shift_down(v, v, k, n);
  rm_mp_sub(v, f, v, n);
  *err = (*err >> k) + rm_exp_mp_err(n) + 2;
  return k;
}

/* erfcx(x) correctly rounded, for such x. */
RM_COLD uint64_t rm_erfcx_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_erfcx_mp_value(v, x, n, &err);
    if (rm_mp_round(0, v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
