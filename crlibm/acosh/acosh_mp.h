/* acosh in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../log/log_root_mp.h"

/* v = acosh x within *err units, for finite x > 1.
 *
 * Below 2^32: x = m 2^e, x^2 - 1 = w 4^e, w = (m - 2^-e)(m + 2^-e) an integer below 2^107. With h such that w 4^(e+h) is in
 * [1/8, 1/2), in two halves 2 units off at the most, its root is within 2 + 2/(2 2^-1.5) < 5 units; moved by 2^-h, with one
 * unit more when that cuts. x is exact. */
RM_FN void rm_acosh_mp(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t s[RM_MP_LIMBS], t[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  if (x >= 0x1p32) {
    rm_log_root_mp(v, x, e + 53, 1, n, err);
    return;
  }
  const uint64_t one = UINT64_C(1) << -e;
  const rm_u128 w = (rm_u128)(m - one) * (m + one);
  const int top = 127 - rm_clz128(w), scale = -2 - top - (top & 1); /* 2 (e + h), even */
  const int h = scale / 2 - e;
  rm_mp_from_integer(s, (uint64_t)(w >> 64), scale + 64, n);
  rm_mp_from_integer(t, (uint64_t)w, scale, n);
  rm_mp_add(s, s, t, n);
  rm_mp_sqrt(t, s, n);
  if (h >= 0) rm_mp_shift_down(t, t, h, n);
  else rm_mp_shift_up(t, t, -h, n);
  rm_mp_from_integer(s, m, e, n);
  rm_mp_add(s, s, t, n);
  rm_log_mp_of(v, s, 0, h >= 0 ? 6 : UINT64_C(5) << -h, n, err);
}

/* acosh(x) correctly rounded, for finite x > 1. */
RM_COLD uint64_t rm_acosh_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_acosh_mp(v, x, n, &err);
    if (rm_mp_round(0, v, 0, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
