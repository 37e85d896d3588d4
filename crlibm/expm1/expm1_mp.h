/* expm1 in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../exp/exp_mp.h"

/* The error of rm_expm1_mp in units. */
RM_FN uint64_t rm_expm1_mp_err(int n) { return rm_exp_mp_err(n) + 1; }

/* v 2^k = |e^y - 1|, or |e^-y - 1| when negative, for 2^-60 <= y <= 800 known within 8 units. Returns k.
 *
 * With f 2^k the exponential: for e^y, k >= -1 and v = f - 2^-k, f within rm_exp_mp_err(n) and 2^-k cut, below 1 unit. For
 * e^-y, k <= -1 and v = 1 - f 2^k, of which the cut is below 1 unit and the error of f counts 2^k. The error may exceed a
 * tiny difference: Ziv's rounding test sees it. */
RM_FN int rm_expm1_mp(uint64_t *v, const uint64_t *y, int negative, int n) {
  uint64_t f[RM_MP_LIMBS], g[RM_MP_LIMBS];
  int k = rm_exp_mp(f, y, negative, n);
  if (negative) {
    rm_mp_shift_down(f, f, -k, n);
    k = 0;
  }
  rm_mp_from_integer(g, 1, -k, n);
  if (rm_mp_less(f, g, n)) rm_mp_sub(v, g, f, n);
  else rm_mp_sub(v, f, g, n);
  return k;
}

/* e^x - 1 correctly rounded, for 2^-60 <= |x| <= 800. */
RM_COLD uint64_t rm_expm1_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], y[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_mp_from_double(y, x, 0, n);
    int k = rm_expm1_mp(v, y, x < 0.0, n);
    if (rm_mp_round(x < 0.0, v, k, rm_expm1_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
