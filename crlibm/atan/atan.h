/* atan: the fast kernels and their domain. */
#pragma once

#include "atan_b64.h"
#include "atan_dd.h"
#include "../simd/fast_phase.h"

#define RM_ATAN_ODD 1

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x, and |atan x| = |x| (1 - x^2/3 + ...)
 * is so close below the number |x| that storing any value within the error bound gives x. */
RM_FN vm64 rm_atan_special(vf64 x, int format) { return vf64_special_odd(x, format); }

RM_NONE_DECIDED(atan, 1)

RM_FAST_PHASE(atan, ATAN, 1)
