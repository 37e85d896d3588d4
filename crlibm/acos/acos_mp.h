/* acos in multiprecision fixed point (fp/mp.h): asin's triangle, the other angle. */
#pragma once

#include "../asin/asin_mp.h"

/* v = acos x for |x| <= 1, within rm_asin_mp_err(n) units: rm_atan_mp's bound is that of either side, and of the left half
 * plane. */
RM_FN void rm_acos_mp(uint64_t *v, double x, int n) {
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS];
  rm_asin_mp_sides(b, a, x, n);
  rm_atan_mp(v, a, b, x < 0.0, n);
}

/* acos(x) correctly rounded, for |x| <= 1 but x = 1. */
RM_COLD uint64_t rm_acos_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_acos_mp(v, x, n);
    if (rm_mp_round(0, v, 0, rm_asin_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
