/* sin and cos for the 16-bit formats in binary32 (simd/b32.h): x = k pi + r, k a whole number (sin) or half an odd one (cos).
 * sin r = r (1 + r^2 P(r^2)), |r| <= pi/2 (1 + 2^-11): r^3 P would lose the sign of -0.
 *
 * Errors relative to the result, u = 2^-24; an error of r counts r cot r <= 1 times. |2k| < 2^9.4 for |x| < 1024, where bf16
 * ends here, and 2^15.4 for all of f16:
 *   x - k HI      exact: HI is a multiple of 2^-22, k of 1/2; |x - k HI| < 2. (An x that is no multiple of 2^-23 has k = 0,
 *                 or k = 1/2 in cos: then it is rounded by u |r|, but |r| > 1.5, and r cot r is below 1/8.)
 *   k LO          the subtraction u
 *   k REST        the subtraction u; |r| >= 2^-16.02 (sin_gen.py), the three parts together are off by 2^-70
 *   r^2 P         P 2^-24.47, or 0.8u; r^2 and Horner 2.2u, and |r^2 P| is below 0.58 of 1 + r^2 P: 1.3u; P's error 0.8u
 *   last steps    u each
 * Sum below 6.6u < 2^-21. The results of infinities are NaN. */
#pragma once

#include "../simd/b32.h"
#include "sin_tables.h"

#define RM_HALF_sin RM_B32_FULL
#define RM_HALF_KNOWN_sin 1
#define RM_HALF_INPUTS_sin ((struct rm_inputs16){0, 0x7bff, 1, {0x32b3, 0x51f5, 0x5cb0}}) /* finite */
#define RM_HALF_ERR_sin(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_sin(format) 0x1p-21

#if RM_B32_FULL

/* sin(x - k pi), with the sign changed where the top bit of flip is set. */
RM_FN vf32 rm_sin_b32_half_of(vf32 x, vf32 k, vi32 flip, const int format) {
  vf32 r = vf32_fnma(k, vf32_set1(RM_SIN_B32_HALF_PI_LO), vf32_fnma(k, vf32_set1(RM_SIN_B32_HALF_PI_HI), x));
  r = vf32_fnma(k, vf32_set1(RM_SIN_B32_HALF_PI_REST), r);
  const vf32 s = vf32_mul(r, r);
  vf32 p = vf32_fma(s, vf32_set1(rm_sin_b32_half_p[3]), vf32_set1(rm_sin_b32_half_p[2]));
  p = vf32_fma(s, vf32_fma(s, p, vf32_set1(rm_sin_b32_half_p[1])), vf32_set1(rm_sin_b32_half_p[0]));
  vf32 y = vf32_mul(r, vf32_fma(s, p, vf32_set1(1.0f)));
  y = vf32_from_bits(vi32_xor(vf32_bits(y), vi32_and(flip, vi32_set1(INT32_MIN))));
  return format == RM_F16 ? y : vf32_select(vf32_lt(vf32_abs(x), vf32_set1(1024.0f)), y, vf32_set1(RM_NAN_16));
}

RM_FN vf32 rm_sin_b32_half(const vf32 *x, const int format) {
  const vf32 magic = vf32_set1(0x1.8p23f); /* the last bit of z is that of the integer k */
  vf32 z = vf32_fma(x[0], vf32_set1(RM_SIN_B32_HALF_INV_PI), magic);
  return rm_sin_b32_half_of(x[0], vf32_sub(z, magic), vi32_sll(vf32_bits(z), 31), format);
}

#endif
