/* atanh in wide fixed point (fp/wide.h): a value with a stated error, and the correctly rounded result from it. */
#ifndef RM_ATANH_WIDE_H
#define RM_ATANH_WIDE_H

#include "../log/log_wide.h"

/* v = 2 atanh |x| = -log b, b = (1 - a)/(1 + a), within *err units, 0 < |x| < 1. a is |x| cut to n limbs, exact from 1/2 on,
 * else below a unit off: b is then 2/(1 + a)^2 units off, and one for the quotient. */
RM_FN void rm_atanh_wide(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t a[RM_WIDE_LIMBS], b[RM_WIDE_LIMBS], q[RM_WIDE_LIMBS];
  rm_wide_from_double(a, x, 0, n);
  rm_wide_set(b, 1, n);
  rm_wide_sub(b, b, a, n);
  a[n] = 1;
  rm_wide_div(q, b, a, n);
  rm_log_wide_of(v, q, 0, a[n - 1] >> 63 ? 1 : 3, n, err);
}

/* atanh(x) correctly rounded, for 0 < |x| < 1. */
RM_COLD uint64_t rm_atanh_wide_round(double x, int format, int rule, uint32_t *flags) {
  uint64_t v[RM_WIDE_LIMBS], err, result = 0;
  for (int n = RM_WIDE_FIRST; n <= RM_WIDE_MAX; n *= 2) {
    rm_atanh_wide(v, x, n, &err);
    if (rm_wide_round(x < 0.0, v, -1, err, n, format, rule, flags, &result)) break;
  }
  return result;
}

#endif
