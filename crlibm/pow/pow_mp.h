/* pow in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../exp/exp_mp.h"
#include "../log/log_mp.h"

/* The error of rm_pow_mp in units (derived there). */
RM_FN uint64_t rm_pow_mp_err(int n) { return rm_exp_mp_err(n) + 3 * (rm_log_mp_err(n + 1) + 2); }

/* f 2^k = a^y for finite a > 0 and y with 2^-56 <= |y log a| <= 750, within rm_pow_mp_err(n) units, n < RM_MP_MAX.
 * Returns k.
 *
 * |log a| >= 2^-53.01, so |y| < 2^63; it is at most 745.2, so |y| >= 2^-66 and y is a multiple of 2^-118: exact with n + 1
 * fraction limbs, n >= 1. In these, one more than the result has, the product z = |y| |log a| is off by
 * |y| rm_log_mp_err(n+1) + n + 2 units; after the cut to n limbs by less than E = rm_log_mp_err(n+1) + 2 units of theirs.
 * rm_exp_mp of an exact argument is within rm_exp_mp_err(n), and e^(E units) changes f < 2.01 by less than 3 E units. */
RM_FN int rm_pow_mp(uint64_t *f, double a, double y, int n) {
  uint64_t z[RM_MP_LIMBS], w[RM_MP_LIMBS];
  const int negative = rm_log_mp(z, a, n + 1) != (y < 0.0);
  rm_mp_from_double(w, y, 0, n + 1);
  rm_mp_mul(z, z, w, n + 1);
  for (int i = 0; i <= n; i++) z[i] = z[i + 1];
  return rm_exp_mp(f, z, negative, n);
}

/* (-1)^odd a^y correctly rounded, a and y as above; a^y is not a boundary of rounding (pow_accurate.h). */
RM_COLD uint64_t rm_pow_mp_round(int odd, double a, double y, int format, rm_mode mode, uint32_t *flags) {
  uint64_t f[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int m = n < RM_MP_MAX ? n : RM_MP_MAX - 1;
    const int k = rm_pow_mp(f, a, y, m);
    if (rm_mp_round(odd, f, k, rm_pow_mp_err(m), m, format, mode, flags, &result)) break;
  }
  return result;
}
