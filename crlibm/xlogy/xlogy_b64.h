/* xlogy for f32 and the 16-bit formats, evaluated in binary64: x log y.
 *
 * log y is within 2^-41 of itself (log_b64.h, and by proof), the product rounds by 2^-53, and Ziv's rounding test by as much:
 * below 2^-41 (1 + 2^-11). A product of f32 numbers with a logarithm neither over- nor underflows. */
#pragma once

#include "../log/log_b64.h"

#define RM_XLOGY_B64_ERR RM_BOUND(0x1.01p-41)

RM_FN vf64 rm_xlogy_eval(vf64 x, vf64 y) { return vf64_mul(x, rm_log_eval(y)); }
