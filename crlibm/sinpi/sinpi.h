/* sinpi: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "sinpi_b64.h"
#include "sinpi_dd.h"

#define RM_SINPI_ODD 0 /* the kernels give the sign */

/* Beyond the reduction, NaN included; in f64 also 0 < |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 rm_sinpi_special(vf64 x, int format) {
  return format == RM_F64 ? vm64_or(rm_sinpi_beyond(x), vf64_special_odd(x, format)) : rm_sinpi_beyond(x);
}

RM_FN vm64 rm_sinpi_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return rm_sinpi_decide_even(x, vf64_copysign(vf64_set1(0.0), x), y);
}

RM_FAST_PHASE_B64_ANY(sinpi, SINPI, 1)
RM_FAST_PHASE_DD_ANY(sinpi, 1)
