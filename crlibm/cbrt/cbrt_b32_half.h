/* cbrt for the 16-bit formats in binary32 (simd/b32.h): |x| = 2^k m, m in [1, 2), k = 3n + j, |j| <= 1: 2^n 2^(j/3) P(m -
 * 3/2).
 *
 * Errors relative to the result, u = 2^-24: P 2^-21.1 (cbrt_gen.py), its last step u, the other steps 2^-2 u; the table u,
 * the product u. Sum below 10.8u < 2^-20.5. The results of zeros, infinities and NaN are NaN. */
#pragma once

#include "../simd/b32.h"
#include "cbrt_tables.h"

#define RM_HALF_cbrt RM_B32_FULL
#define RM_HALF_KNOWN_cbrt 1
#define RM_HALF_INPUTS_cbrt ((struct rm_inputs16){0, 0x7bff, 1, {0}}) /* finite */
#define RM_HALF_ERR_cbrt(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_cbrt(format) 0x1.6p-21

#if RM_B32_FULL

RM_FN vf32 rm_cbrt_b32_half(const vf32 *x, const int format) {
  (void)format;
  const vf32 k = vf32_exponent(x[0]), n = vf32_integer(vf32_mul(k, vf32_set1(0x1.555556p-2f)));
  vi32 j = vf32_bits(vf32_add(vf32_fnma(n, vf32_set1(3.0f), k), vf32_set1(0x1.8p23f)));
  vf32 r = vf32_sub(vf32_mantissa1(x[0]), vf32_set1(1.5f)), p = vf32_set1(rm_cbrt_b32_half_p[6]);
  RM_UNROLL
  for (int i = 5; i >= 0; i--) p = vf32_fma(r, p, vf32_set1(rm_cbrt_b32_half_p[i]));
  return vf32_copysign(vf32_scale(vf32_mul(p, vf32_lookup32(rm_cbrt_b32_half_t, j)), n), x[0]);
}

#endif
