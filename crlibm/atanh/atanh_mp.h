/* atanh in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../log/log_mp.h"

/* v = 2 atanh |x| = -log b, b = (1 - a)/(1 + a), within *err units, 0 < |x| < 1. a is |x| cut to n limbs, exact from 1/2 on,
 * else below a unit off: b is then 2/(1 + a)^2 units off, and one for the quotient. */
RM_FN void rm_atanh_mp(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS], q[RM_MP_LIMBS];
  rm_mp_from_double(a, x, 0, n);
  rm_mp_set(b, 1, n);
  rm_mp_sub(b, b, a, n);
  a[n] = 1;
  rm_mp_div(q, b, a, n);
  rm_log_mp_of(v, q, 0, a[n - 1] >> 63 ? 1 : 3, n, err);
}

/* atanh(x) correctly rounded, for 0 < |x| < 1. */
RM_COLD uint64_t rm_atanh_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_atanh_mp(v, x, n, &err);
    if (rm_mp_round(x < 0.0, v, -1, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
