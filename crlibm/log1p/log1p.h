/* log1p: the fast kernels and their domain. */
#pragma once

#include "log1p_b64.h"
#include "log1p_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_LOG1P_ODD 1 /* the kernels evaluate at x itself; the result has the sign of x, also when it is zero */

/* Lanes outside (-1, 2^1023), NaN included, and for f64 0 < |x| < 2^-960, where exact products would underflow. A subnormal
 * result is that of a subnormal x, for which the evaluation gives x (1 - x/2) rounded: so close to x that storing it gives x.
 * */
RM_FN vm64 rm_log1p_special(vf64 x, int format) {
  vm64 inside = vm64_and(vf64_lt(vf64_set1(-1.0), x), vf64_lt(x, vf64_set1(0x1p1023)));
  if (format != RM_F64) return vm64_not(inside);
  return vm64_or(vm64_not(inside), vf64_special_odd(x, format));
}

/* Tiny special lanes: |log1p x - x| < x^2 is far below half a unit of x. Those below -1 are invalid. */
RM_FN vm64 rm_log1p_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 tiny = vf64_lt(vf64_abs(x), vf64_set1(0x1p-960));
  *y = vf64_select(tiny, x, *y);
  return vm64_or(tiny, vf64_decide_invalid(vf64_lt(x, vf64_set1(-1.0)), y));
}

RM_FAST_PHASE(log1p, LOG1P, 1)
