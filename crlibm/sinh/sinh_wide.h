/* sinh and cosh in wide fixed point (fp/wide.h): a value with a stated error, and the correctly rounded result from it. */
#ifndef RM_SINH_WIDE_H
#define RM_SINH_WIDE_H

#include "../exp/exp_wide.h"

/* The error of rm_sinh_cosh_wide in units. */
RM_FN uint64_t rm_sinh_wide_err(int n) { return 2 * rm_exp_wide_err(n) + 1; }

/* v 2^e = |sinh x|, or cosh x when cosh is 1, for 2^-60 <= |x| <= 800. Returns e.
 *
 * f 2^k = e^|x| and g 2^j = e^-|x|, k >= -1 >= j; v = f -+ g 2^(j-k), e = k - 1: both errors, and the cut of g. For tiny x the
 * difference cancels; should it be lost in the error, the rounding test sees it. */
RM_FN int rm_sinh_cosh_wide(uint64_t *v, double x, int cosh, int n) {
  uint64_t y[RM_WIDE_LIMBS], f[RM_WIDE_LIMBS], g[RM_WIDE_LIMBS];
  rm_wide_from_double(y, x, 0, n);
  const int k = rm_exp_wide(f, y, 0, n), j = rm_exp_wide(g, y, 1, n);
  rm_wide_shift_down(g, g, k - j, n);
  if (cosh)
    rm_wide_add(v, f, g, n);
  else if (rm_wide_less(f, g, n))
    rm_wide_sub(v, g, f, n);
  else
    rm_wide_sub(v, f, g, n);
  return k - 1;
}

/* sinh x or cosh x correctly rounded, for 2^-60 <= |x| <= 800. */
RM_COLD uint64_t rm_sinh_cosh_wide_round(double x, int cosh, int format, int rule, uint32_t *flags) {
  uint64_t v[RM_WIDE_LIMBS], result = 0;
  for (int n = RM_WIDE_FIRST; n <= RM_WIDE_MAX; n *= 2) {
    int e = rm_sinh_cosh_wide(v, x, cosh, n);
    if (rm_wide_round(!cosh && x < 0.0, v, e, rm_sinh_wide_err(n), n, format, rule, flags, &result)) break;
  }
  return result;
}

#endif
