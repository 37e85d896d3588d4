/* Phi in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../erfc/erfc_mp.h"

/* v 2^scale = 2 Phi(x) for 2^-60 <= |x| < 45, v > 0.008, v within *err units. Returns the scale, at most 0.
 *
 * Below 0 it is erfc(|x|/sqrt 2) with that error; above, 2 less that, and one unit more (rm_erfc_mp_reflect). */
RM_FN int rm_ndtr_mp_twice(uint64_t *v, double x, int n, uint64_t *err) {
  const int k = rm_erfc_mp(v, x, 1, n, err);
  if (x < 0.0) return k;
  rm_erfc_mp_reflect(v, k, n);
  ++*err;
  return 0;
}

/* Phi(x) correctly rounded, for 2^-60 <= |x| < 45. */
RM_COLD uint64_t rm_ndtr_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_ndtr_mp_twice(v, x, n, &err);
    if (rm_mp_round(0, v, k - 1, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
