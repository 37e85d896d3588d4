/* acos in wide fixed point (fp/wide.h): asin's triangle, the other angle. */
#ifndef RM_ACOS_WIDE_H
#define RM_ACOS_WIDE_H

#include "../asin/asin_wide.h"

/* v = acos x for |x| <= 1, within rm_asin_wide_err(n) units. */
RM_FN void rm_acos_wide(uint64_t *v, double x, int n) {
  uint64_t a[RM_WIDE_LIMBS], b[RM_WIDE_LIMBS];
  rm_asin_wide_sides(b, a, x, n);
  rm_atan_wide(v, a, b, x < 0.0, n);
}

/* acos(x) correctly rounded, for |x| <= 1 but x = 1. */
RM_COLD uint64_t rm_acos_wide_round(double x, int format, int rule, uint32_t *flags) {
  uint64_t v[RM_WIDE_LIMBS], result = 0;
  for (int n = RM_WIDE_FIRST; n <= RM_WIDE_MAX; n *= 2) {
    rm_acos_wide(v, x, n);
    if (rm_wide_round(0, v, 0, rm_asin_wide_err(n), n, format, rule, flags, &result)) break;
  }
  return result;
}

#endif
