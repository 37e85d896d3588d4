/* tanh: the fast kernels and their domain. */
#pragma once

#include "tanh_b64.h"
#include "tanh_dd.h"
#include "../simd/fast_phase.h"

#define RM_TANH_ODD 1

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x, and |tanh x| = |x| (1 - x^2/3 + ...) is
 * so close below the number |x| that storing any value within the error bound gives x. */
RM_FN vm64 rm_tanh_special(vf64 x, int format) { return vf64_special_odd(x, format); }

RM_NONE_DECIDED(tanh, 1)

RM_FAST_PHASE(tanh, TANH, 1)
