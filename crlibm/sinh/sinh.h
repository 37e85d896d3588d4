/* sinh: the fast kernels and their domain. */
#pragma once

#include "sinh_b64.h"
#include "sinh_dd.h"
#include "../simd/fast_phase.h"

#define RM_SINH_ODD 1

/* Lanes whose result overflows or nearly so, and NaN: e^11.77/2 < 65504, e^89.4/2 < 2^128 (1 - 2^-9); for f64 low parts must be
 * exact: e^-670/2 > 2^-968. A subnormal result is that of a subnormal x, and |sinh x| = |x| (1 + x^2/6 + ...) is so close
 * above the number |x| that storing any value within the error bound gives x. The same lanes for cosh. */
RM_FN vm64 rm_sinh_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? 670.0 : format == RM_F16 ? 11.77 : 89.4)));
}

/* No special lane has a result that is known at once. */
RM_NONE_DECIDED(sinh, 1)

RM_FAST_PHASE(sinh, SINH, 1)
