/* asinpi: the fast kernels and their domain. */
#pragma once

#include "../asin/asin.h"
#include "asinpi_b64.h"
#include "asinpi_dd.h"

#define RM_ASINPI_ODD 1

/* |x| > 1 and NaN; for f64 also 0 < |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 rm_asinpi_special(vf64 x, int format) {
  const vm64 outside = vm64_not(vf64_le(vf64_abs(x), vf64_set1(1.0)));
  return format == RM_F64 ? vm64_or(outside, vf64_special_odd(x, format)) : outside;
}

RM_FN vm64 rm_asinpi_decided(vf64 x, int format, vf64 *y) { return rm_asin_decided(x, format, y); }

RM_FAST_PHASE_B64_ANY(asinpi, ASINPI, 1)
RM_FAST_PHASE_DD(asinpi, 1, 1)
