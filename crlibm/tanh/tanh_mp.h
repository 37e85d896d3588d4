/* tanh in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../exp/exp_mp.h"

/* v = |tanh x| for 2^-64 <= |x| <= 64, within 2 rm_exp_mp_err(n) + 5 units.
 *
 * With f 2^k = exp(2|x|), k >= -1: tanh = (f - 2^-k)/(f + 2^-k) = q. f is off by E units, 2^-k by at most one (it is exact
 * up to k = 64 n); q by (1 + q)(E + 1)/(f + 2^-k) + 1 < 2 (E + 1) + 2, since f >= 1 and both errors are below 2^-30 of f (n
 * >= 1). For tiny x the difference cancels: the absolute error stays the same, and 2^-27 is small against 1/(its precision)
 * from n = 2 on; with fewer limbs more cases are passed on. */
RM_FN void rm_tanh_mp(uint64_t *v, double x, int n) {
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS], g[RM_MP_LIMBS];
  rm_mp_from_double(y, x, 1, n);
  int k = rm_exp_mp(f, y, 0, n);
  rm_mp_from_integer(g, 1, -k, n);
  rm_mp_add(y, f, g, n);
  if (rm_mp_less(f, g, n)) /* the error may exceed a tiny difference: Ziv's rounding test sees it */
    rm_mp_sub(f, g, f, n);
  else rm_mp_sub(f, f, g, n);
  rm_mp_div(v, f, y, n);
}

/* tanh(x) correctly rounded, for 2^-64 <= |x| <= 64. */
RM_COLD uint64_t rm_tanh_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_tanh_mp(v, x, n);
    if (rm_mp_round(x < 0.0, v, 0, 2 * rm_exp_mp_err(n) + 5, n, format, mode, flags, &result)) break;
  }
  return result;
}
