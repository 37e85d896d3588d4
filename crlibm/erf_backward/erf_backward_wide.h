/* erf_backward in wide fixed point (fp/wide.h): a value with a stated error, and the correctly rounded result from it. */
#ifndef RM_ERF_BACKWARD_ERF_BACKWARD_WIDE_H
#define RM_ERF_BACKWARD_ERF_BACKWARD_WIDE_H

#include "../erf/erf_wide.h"

/* |g 2/sqrt(pi) exp(-x^2)| = v 2^scale for |x| < 45, g finite and not 0, v > 1 within *err units. Returns the scale.
 *
 * f 2^k = exp(-x^2), f < 2.01 off by E; C = 2/sqrt(pi) < 1.13 by a unit: f C by 1.13 E + n + 4; the significand of g, below 2,
 * doubles that, and n + 1. */
RM_FN int rm_erf_backward_wide(uint64_t *v, double g, double x, int n, uint64_t *err) {
  uint64_t y[RM_WIDE_LIMBS], m[RM_WIDE_LIMBS];
  int e;
  if (x == 0.0)
    rm_wide_set(y, 0, n);
  else
    rm_erf_wide_square(y, x, 0, n);
  const int k = rm_exp_wide(v, y, 1, n);
  rm_wide_mul(v, v, rm_wide_2_sqrtpi + (RM_WIDE_TABLE_LIMBS - 1 - n), n);
  rm_split_double(g, &e);
  rm_wide_from_double(m, g, -e - 52, n);
  rm_wide_mul(v, v, m, n);
  *err = 3 * rm_exp_wide_err(n) + 3 * (uint64_t)n + 10;
  return k + e + 52;
}

/* g 2/sqrt(pi) exp(-x^2) correctly rounded, same domain. */
RM_COLD uint64_t rm_erf_backward_wide_round(double g, double x, int format, int rule, uint32_t *flags) {
  uint64_t v[RM_WIDE_LIMBS], err, result = 0;
  for (int n = RM_WIDE_FIRST; n <= RM_WIDE_MAX; n *= 2) {
    const int k = rm_erf_backward_wide(v, g, x, n, &err);
    if (rm_wide_round(g < 0.0, v, k, err, n, format, rule, flags, &result)) break;
  }
  return result;
}

#endif
