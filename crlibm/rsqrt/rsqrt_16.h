/* rsqrt for the 16-bit formats in binary32 (simd/narrow.h): vf32_rsqrt is within 2^-21.7, the rounding test of f16 adds 2^-24. Zeros,
 * infinities and negative numbers give NaN. */
#ifndef RM_RSQRT_16_H
#define RM_RSQRT_16_H

#include "../simd/narrow.h"

#define RM_16_rsqrt RM_NARROW
#define RM_16_KNOWN_rsqrt 0
#define RM_16_ERR_rsqrt(format) RM_BOUND(0x1p-21f)

#if RM_NARROW

RM_FN vf32 rm_rsqrt_16(const vf32 *x, const int format) {
  (void)format;
  return vf32_rsqrt(x[0]);
}

#endif
#endif
