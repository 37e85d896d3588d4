/* log1p in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../log/log_mp.h"

/* v = |log(1 + x)| within *err units for finite x > -1 other than 0; returns 1 when it is negative. 1 + x = a 2^e: for x >= 1
 * with x 2^-e in [1/2, 1), else e = 0; a is exact, or below a unit off: 2^-e resp. |x| is cut. (|x| < 1/2 in the latter case:
 * a >= 1/2.) */
RM_FN int rm_log1p_mp(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS];
  int e, cut;
  const uint64_t m = rm_decompose(x, &e);
  if (x >= 1.0) {
    e += 53;
    rm_mp_from_integer(a, m, -53, n);
    rm_mp_from_integer(b, 1, -e, n);
    cut = e > 64 * n;
  } else {
    rm_mp_set(a, 1, n);
    rm_mp_from_integer(b, m, e, n);
    cut = e < -64 * n;
    e = 0;
  }
  if (x > 0.0) rm_mp_add(a, a, b, n);
  else rm_mp_sub(a, a, b, n);
  return rm_log_mp_of(v, a, e, (uint64_t)cut, n, err);
}

/* log(1 + x) correctly rounded, for finite x > -1 other than 0. */
RM_COLD uint64_t rm_log1p_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int negative = rm_log1p_mp(v, x, n, &err);
    if (rm_mp_round(negative, v, 0, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
