/* hypot for f32 and the 16-bit formats, evaluated in binary64.
 *
 * x^2 and y^2 are exact (48 bits) and neither over- nor underflow; the sum, 0 or between 2^-298 and 2^257, is rounded once,
 * by 2^-53, which the root halves; vf64_root is within 2^-51. Together below 2^-50.8. */
#pragma once

#include "../simd/machine.h"

#define RM_HYPOT_B64_ERR RM_BOUND(0x1p-50)

RM_FN vf64 rm_hypot_eval(vf64 x, vf64 y) {
  vf64 reciprocal;
  return vf64_root(vf64_mad(x, x, vf64_mul(y, y)), &reciprocal);
}
