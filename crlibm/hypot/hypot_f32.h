/* hypot for f32 and the 16-bit formats, evaluated in binary64.
 *
 * x^2 and y^2 are exact (48 bits) and neither over- nor underflow; the sum is rounded once, by 2^-53, which the root halves; the
 * root is rounded by 2^-53: together below 2^-52.4. */
#ifndef RM_HYPOT_F32_H
#define RM_HYPOT_F32_H

#include "../simd/machine.h"

#define RM_HYPOT_F32_ERR RM_BOUND(0x1p-52)

RM_FN vf64 rm_hypot_eval(vf64 x, vf64 y) { return vf64_sqrt(vf64_mad(x, x, vf64_mul(y, y))); }

#endif
