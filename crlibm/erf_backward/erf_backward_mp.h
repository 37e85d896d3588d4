/* erf_backward in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from
 * it. */
#pragma once

#include "../erf/erf_mp.h"

/* |g 2/sqrt(pi) exp(-x^2)| = v 2^scale for |x| < 45, g finite and not 0, v > 1 within *err units. Returns the scale.
 *
 * f 2^k = exp(-x^2), f < 2.01 off by E; C = 2/sqrt(pi) < 1.13 by a unit: f C by 1.13 E + n + 4; the significand of g, below
 * 2, doubles that, and n + 1. */
RM_FN int rm_erf_backward_mp(uint64_t *v, double g, double x, int n, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS], m[RM_MP_LIMBS];
  int e;
  if (x == 0.0) rm_mp_set(y, 0, n);
  else rm_erf_mp_square(y, x, 0, n);
  const int k = rm_exp_mp(v, y, 1, n);
  rm_mp_mul(v, v, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_decompose(g, &e);
  rm_mp_from_double(m, g, -e - 52, n);
  rm_mp_mul(v, v, m, n);
  *err = 3 * rm_exp_mp_err(n) + 3 * (uint64_t)n + 10;
  return k + e + 52;
}

/* g 2/sqrt(pi) exp(-x^2) correctly rounded, same domain. */
RM_COLD uint64_t rm_erf_backward_mp_round(double g, double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_erf_backward_mp(v, g, x, n, &err);
    if (rm_mp_round(g < 0.0, v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
