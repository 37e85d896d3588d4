/* Roots under stochastic rounding, whose boundaries have more digits than the integer roots of fp/exact.h: by exp and log in
 * multiprecision fixed point (fp/mp.h). */
#pragma once

#include "pow_mp.h"

/* (-1)^negative (M 2^e)^(1/degree), or its reciprocal, correctly rounded; degree is 2 or 3. M is the integer of four limbs
 * at m, the lowest first, with its top bit set. The value is no number of the format. It may be another boundary of
 * stochastic rounding: then no precision decides, and the lower end of the interval is taken, which rounds down as
 * equality does.
 *
 * Errors: M 2^-256 is cut to n + 1 limbs, a unit short at most; log doubles that and more than takes it in (rm_log_mp_of). A
 * half or a third of log's error and a unit for the division are below the error that rm_pow_mp_err allows for. */
RM_COLD uint64_t rm_root_mp_round(int negative, const uint64_t *m, int64_t e, int degree, int reciprocal, int format,
                                  rm_mode mode, uint32_t *flags) {
  uint64_t z[RM_MP_LIMBS + 1], f[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = n < RM_MP_MAX ? n : RM_MP_MAX - 1, limbs = k + 1;
    z[limbs] = 0;
    for (int i = 0; i < limbs; i++) z[i] = 4 - limbs + i >= 0 ? m[4 - limbs + i] : 0;
    const int below = rm_log_mp_of(z, z, e + 256, limbs < 4, limbs, &err);
    rm_mp_div_small(z, z, (uint64_t)degree, limbs);
    for (int i = 0; i <= k; i++) z[i] = z[i + 1];
    const int scale = rm_exp_mp(f, z, below != reciprocal, k);
    if (rm_mp_round(negative, f, scale, rm_pow_mp_err(k), k, format, mode, flags, &result)) break;
  }
  return result;
}

/* The same of an integer m != 0 of 64 bits, times 2^e. */
RM_FN uint64_t rm_root_mp_round_of(int negative, uint64_t m, int64_t e, int degree, int reciprocal, int format, rm_mode mode,
                                   uint32_t *flags) {
  const int s = rm_clz64(m);
  const uint64_t limbs[4] = {0, 0, 0, m << s};
  return rm_root_mp_round(negative, limbs, e - s - 192, degree, reciprocal, format, mode, flags);
}
