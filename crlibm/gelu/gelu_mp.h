/* gelu in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../ndtr/ndtr_mp.h"

/* v 2^scale = |gelu x| for 2^-60 <= |x| < 45, v > 0.008, v within *err units. Returns the scale.
 *
 * |x| = m 2^e, 1 <= m < 2; v = m 2 Phi(x): twice its error, n + 1 for the product. */
RM_FN int rm_gelu_mp(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t m[RM_MP_LIMBS];
  int e;
  const int k = rm_ndtr_mp_twice(v, x, n, err);
  rm_decompose(x, &e);
  rm_mp_from_double(m, x, -e - 52, n);
  rm_mp_mul(v, v, m, n);
  *err = 2 * *err + (uint64_t)n + 3;
  return k + e + 51;
}

/* gelu(x) correctly rounded, for 2^-60 <= |x| < 45. */
RM_COLD uint64_t rm_gelu_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_gelu_mp(v, x, n, &err);
    if (rm_mp_round(x < 0.0, v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
