/* tan in multiprecision fixed point: the quotient of sin_mp.h's sine and cosine. */
#pragma once

#include "../sin/sin_mp.h"

/* |tan(k pi/2 + rest)| = v 2^e, as rm_sin_mp_reduced; *negative says whether rest is, and then whether the tangent is.
 * Returns e. */
RM_LONG int rm_tan_mp_reduced(uint64_t *v, const uint64_t *r, int k, int j, int n, int *negative) {
  uint64_t u[RM_MP_LIMBS], s[RM_MP_LIMBS], c[RM_MP_LIMBS];
  rm_sin_mp_square(u, r, j, n);
  rm_sin_mp_series(c, u, 0, n);
  rm_sin_mp_sin(s, r, u, n);
  if (k & 1) { /* -cos r/sin r */
    *negative = !*negative;
    rm_mp_shift_down(c, c, 2, n);
    rm_mp_div(v, c, s, n);
    return j + 2;
  }
  rm_mp_shift_down(s, s, 2, n);
  rm_mp_div(v, s, c, n);
  return 2 - j;
}

RM_FN uint64_t rm_tan_mp_err(int n) { return (uint64_t)(15 * n + 22); }

/* |tan x| = v 2^e within rm_tan_mp_err(n) units, |x| >= 2^-60; *negative when tan |x| is. Returns e.
 *
 * s = 2^j |sin r| in [0.7, 1.58) and c = cos r in [0.7, 1] are off by 18 n + 26 and 10 n + 12 units. v = (s/4)/c < 0.56, off
 * by (4.5 n + 7.5)/0.707 + 0.56 (10 n + 12)/0.707 + 1 <= 14.3 n + 21.2; or (c/4)/s < 0.36, by (2.5 n + 4)/0.707 + 0.36 (18 n
 * + 26)/0.707 + 1 <= 13 n + 20. */
RM_LONG int rm_tan_mp(uint64_t *v, double x, int n, int *negative) {
  uint64_t r[RM_MP_LIMBS];
  int j;
  const int k = rm_sin_mp_reduce(r, x, n, &j, negative);
  return rm_tan_mp_reduced(v, r, k, j, n, negative);
}

/* tan x correctly rounded, for finite |x| >= 2^-60. */
RM_COLD uint64_t rm_tan_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative;
    const int e = rm_tan_mp(v, x, n, &negative);
    if (rm_mp_round(negative ^ (x < 0.0), v, e, rm_tan_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
