/* atanpi: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "atanpi_b64.h"
#include "atanpi_dd.h"

#define RM_ATANPI_ODD 1

/* NaN; for f64 also 0 < |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 rm_atanpi_special(vf64 x, int format) { return vf64_special_odd(x, format); }

RM_NONE_DECIDED(atanpi, 1)

RM_FAST_PHASE_B64_ANY(atanpi, ATANPI, 1)
RM_FAST_PHASE_DD(atanpi, 1, 1)
