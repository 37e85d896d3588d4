/* gelu_backward in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from
 * it. */
#pragma once

#include "../erfc/erfc_mp.h"

/* |g gelu'(x)| = v 2^scale for 2^-60 <= |x| < 63, g finite and not 0, v within *err units; *negative becomes the sign of
 * gelu'(x). Returns the scale.
 *
 * With a = |x|, f 2^k = exp(-a^2/2), w = W(a/sqrt 2): gelu'(-a) = -f 2^(k-1) u, u = a C/sqrt(2) - w, C = 2/sqrt(pi). Errors
 * in units: C/sqrt(2) n + 3, a one unit, so that their product is off by 64 (n + 3) + n + 3, w by e; u by 66 n + 200 + e. |u|
 * < 52, f < 2.01 off by E: f u by 52 E + 2.01 (66 n + 200 + e) + n + 1. 1 -+ 2^(k-1) f |u| has less, and a unit. The
 * significand of g, below 2, doubles that, and n + 1. */
RM_FN int rm_gelu_backward_mp(uint64_t *v, double g, double x, int n, uint64_t *err, int *negative) {
  uint64_t u[RM_MP_LIMBS], f[RM_MP_LIMBS];
  int e;
  rm_erfcx_mp(v, x, 1, n, err);
  rm_mp_from_double(u, x, 0, n);
  rm_mp_mul(f, rm_mp_2_sqrtpi + (RM_MP_TABLE_LIMBS - 1 - n), rm_mp_sqrt_half + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(u, u, f, n);
  *negative = rm_mp_less(v, u, n);
  if (*negative) rm_mp_sub(u, u, v, n);
  else rm_mp_sub(u, v, u, n);
  rm_erf_mp_square(v, x, 1, n);
  int k = rm_exp_mp(f, v, 1, n);
  rm_mp_mul(v, f, u, n);
  *err = 52 * rm_exp_mp_err(n) + 3 * *err + 134 * (uint64_t)n + 405;
  if (x > 0.0) {
    rm_mp_shift_down(v, v, 1 - k, n); /* k <= -1 */
    rm_mp_set(u, 1, n);
    if (*negative) rm_mp_add(v, u, v, n);
    else rm_mp_sub(v, u, v, n);
    *negative = 0;
    k = 1;
  }
  rm_decompose(g, &e);
  rm_mp_from_double(u, g, -e - 52, n);
  rm_mp_mul(v, v, u, n);
  *err = 2 * *err + (uint64_t)n + 4;
  return k - 1 + e + 52;
}

/* g gelu'(x) correctly rounded, same domain. */
RM_COLD uint64_t rm_gelu_backward_mp_round(double g, double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  int negative;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_gelu_backward_mp(v, g, x, n, &err, &negative);
    if (rm_mp_round(negative ^ (g < 0.0), v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
