/* log(x + sqrt(x^2 +- 1)) in multiprecision fixed point (fp/mp.h). */
#pragma once

#include "log_mp.h"

/* v = log(x + sqrt(x^2 + 1)), or with x^2 - 1 when minus, within *err units. x 2^-k is in [1/2, 1), k >= 1, k >= 32 when
 * minus; or k = 0 and 0 < x < 1, for the sum.
 *
 * With y = x 2^-k and S = sqrt(y^2 +- 2^-2k): log(y + S) + k ln2. (S/2)^2 is in [1/32, 1/2] and taken from the exact square,
 * of 106 bits, in two halves, and 2^(-2k-2): 3 units; S/2 is within 2 + 3/(2 2^-2.5) < 11 of them, y within one. */
RM_FN void rm_log_root_mp(uint64_t *v, double x, int k, int minus, int n, uint64_t *err) {
  uint64_t s[RM_MP_LIMBS], t[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  const rm_u128 square = (rm_u128)m * m;
  const int e2 = 2 * (e - k) - 2;
  rm_mp_from_integer(s, (uint64_t)(square >> 64), e2 + 64, n);
  rm_mp_from_integer(t, (uint64_t)square, e2, n);
  rm_mp_add(s, s, t, n);
  rm_mp_from_integer(t, 1, -2 * k - 2, n);
  if (minus) rm_mp_sub(s, s, t, n);
  else rm_mp_add(s, s, t, n);
  rm_mp_sqrt(t, s, n);
  rm_mp_double(t, t, n);
  rm_mp_from_integer(s, m, e - k, n);
  rm_mp_add(s, s, t, n);
  rm_log_mp_of(v, s, k, 23, n, err);
}
