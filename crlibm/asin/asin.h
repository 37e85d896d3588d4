/* asin: the fast kernels and their domain. */
#pragma once

#include "asin_b64.h"
#include "asin_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_ASIN_ODD 1

/* |x| > 1 and NaN; for f64 also 0 < |x| < 2^-960, where exact products would underflow. In the other formats a subnormal
 * result is that of a subnormal x, and |asin x| = |x| (1 + x^2/6 + ...) is so close above the number |x| that storing any
 * value within the error bound gives x. */
RM_FN vm64 rm_asin_special(vf64 x, int format) {
  const vm64 outside = vm64_not(vf64_le(vf64_abs(x), vf64_set1(1.0)));
  return format == RM_F64 ? vm64_or(outside, vf64_special_odd(x, format)) : outside;
}

/* Numbers outside [-1, 1] are invalid. */
RM_FN vm64 rm_asin_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vf64_lt(vf64_set1(1.0), vf64_abs(x)), y);
}

RM_FAST_PHASE(asin, ASIN, 1)
