/* sinh and cosh in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from
 * it. */
#pragma once

#include "../exp/exp_mp.h"

/* The error of rm_sinh_cosh_mp in units. */
RM_FN uint64_t rm_sinh_mp_err(int n) { return 2 * rm_exp_mp_err(n) + 1; }

/* v 2^e = |sinh x|, or cosh x when cosh is 1, for 2^-60 <= |x| <= 800. Returns e.
 *
 * f 2^k = e^|x| and g 2^j = e^-|x|, k >= -1 >= j; v = f -+ g 2^(j-k), e = k - 1: both errors, and the cut of g. For tiny x
 * the difference cancels; should it be lost in the error, Ziv's rounding test sees it. */
RM_FN int rm_sinh_cosh_mp(uint64_t *v, double x, int cosh, int n) {
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS], g[RM_MP_LIMBS];
  rm_mp_from_double(y, x, 0, n);
  const int k = rm_exp_mp(f, y, 0, n), j = rm_exp_mp(g, y, 1, n);
  rm_mp_shift_down(g, g, k - j, n);
  if (cosh) rm_mp_add(v, f, g, n);
  else if (rm_mp_less(f, g, n)) rm_mp_sub(v, g, f, n);
  else rm_mp_sub(v, f, g, n);
  return k - 1;
}

/* sinh x or cosh x correctly rounded, for 2^-60 <= |x| <= 800. */
RM_COLD uint64_t rm_sinh_cosh_mp_round(double x, int cosh, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int e = rm_sinh_cosh_mp(v, x, cosh, n);
    if (rm_mp_round(!cosh && x < 0.0, v, e, rm_sinh_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
