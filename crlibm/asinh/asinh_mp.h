/* asinh in multiprecision fixed point (fp/mp.h): the correctly rounded result. */
#pragma once

#include "../log/log_root_mp.h"

/* asinh(x) correctly rounded, for finite x other than 0. asinh |x| = log(|x| + sqrt(x^2 + 1)). */
RM_COLD uint64_t rm_asinh_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  int k;
  rm_decompose(x, &k);
  k = k + 53 > 0 ? k + 53 : 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_log_root_mp(v, x, k, 0, n, &err);
    if (rm_mp_round(x < 0.0, v, 0, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
