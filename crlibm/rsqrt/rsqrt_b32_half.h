/* rsqrt for the 16-bit formats in binary32 (simd/b32.h): vf32_rsqrt is within 2^-21.7. No 1/sqrt(x) of a number of f16 is
 * within 2^-21.5 of a midpoint of two (tests/elementwise/test_b32.py has the run), so no rounding test is needed. Zeros,
 * infinities and negative numbers give NaN. */
#pragma once

#include "../simd/b32.h"

#define RM_HALF_rsqrt RM_B32
#define RM_HALF_KNOWN_rsqrt 1
#define RM_HALF_INPUTS_rsqrt ((struct rm_inputs16){1, 0x7bff, 0, {0}}) /* x > 0 */
#define RM_HALF_ERR_rsqrt(format) RM_BOUND(0x1p-21f)
#define RM_HALF_CLAIM_rsqrt(format) 0x1.3ap-22

#if RM_B32

RM_FN vf32 rm_rsqrt_b32_half(const vf32 *x, const int format) {
  (void)format;
  return vf32_rsqrt(x[0]);
}

#endif
