/* log, log2 and log10 for the 16-bit formats in binary32 (simd/b32.h): x = 2^k m, m in [0.75, 1.5), c_j ~ 1/m and r = m c_j -
 * 1 as in log_b32.h, exactly; log x = (k log 2 - log c_j) + r P(r). j, the top five bits of m's fraction, is 16 more than
 * there, modulo 32. k = floor(log2(x 4/3)): x has at most 11 bits, so RN24(4/3) and the product's rounding do not matter.
 *
 * Errors relative to the result, u = 2^-24. r P is within 2^-24.3 + u (1 + 2^-4) < 1.9u; it is the result around 1, where c_j
 * = 1.
 *   k = 0, c_j != 1    |ln x| >= 2^-6.1, |r| <= 2^-5: |log c_j| is below 3.2, |r P| below 2.2 times the result: 3.2u + 4.2u
 *   k != 0             |ln x| >= 0.28: |k log 2| is below 2.5, |log c_j| below 1.5, |r P| below 0.12 times the result, and
 *                      their sum rounds: 2.5u + 1.5u + 0.3u + u
 * The last step u. Sum below 8.4u < 2^-20.9; with the three log c_j that log_b32_gen.py moves, which are off by 11u, 25u <
 * 2^-19.3. For zeros and infinity k is infinite, for NaN and x < 0 m is NaN, and so are the results. */
#pragma once

#include "log_b32.h"

#define RM_HALF_log RM_B32_FULL
#define RM_HALF_KNOWN_log 1
#define RM_HALF_INPUTS_log ((struct rm_inputs16){1, 0x7bff, 0, {0}}) /* x > 0 */
#define RM_HALF_ERR_log(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_log(format) 0x1.9p-20

#if RM_B32_FULL

/* unit: the logarithm of 2 to the base of p and l. */
RM_FN vf32 rm_log_b32_half_of(vf32 x, float unit, const float *p, const float *l) {
  const vf32 m = vf32_mantissa_or_nan(x), k = vf32_exponent(vf32_mul(x, vf32_set1(0x1.555556p+0f)));
  const vi32 j = vi32_srl(vf32_bits(m), 18);
  vf32 r = vf32_fms(m, vf32_lookup32(rm_log_b32_half_c, j), vf32_set1(1.0f));
  vf32 q = vf32_fma(r, vf32_set1(p[3]), vf32_set1(p[2]));
  q = vf32_fma(r, vf32_fma(r, q, vf32_set1(p[1])), vf32_set1(p[0]));
  return vf32_fma(r, q, vf32_fma(k, vf32_set1(unit), vf32_lookup32(l, j)));
}

RM_FN vf32 rm_log_b32_half(const vf32 *x, const int format) {
  (void)format;
  return rm_log_b32_half_of(x[0], RM_LOG_B32_HALF_LN2, rm_log_b32_half_p, rm_log_b32_half_l);
}

#endif
