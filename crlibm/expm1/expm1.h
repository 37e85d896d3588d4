/* expm1: the fast kernels and their domain. */
#pragma once

#include "expm1_b64.h"
#include "expm1_dd.h"
#include "../simd/fast_phase.h"

/* The kernels evaluate f(x) itself, which has the sign of x; the copied sign is that of a zero. */
#define RM_EXPM1_ODD 1

/* Lanes whose result overflows or nearly so, and NaN: e^11.08 < 65504, e^88.7 < 2^128; for f64 low parts must be exact, see
 * exp_dd.h. Results near 0 are those of x near 0: |e^x - 1 - x| < x^2 is so small against the number x of the format that,
 * in the subnormal range, storing any value within the error bound gives x. */
RM_FN vm64 rm_expm1_special(vf64 x, int format) {
  return vm64_not(vf64_le(x, vf64_set1(format == RM_F64 ? 670.0 : format == RM_F16 ? 11.08 : 88.7)));
}

/* No special lane has a result that is known at once: saturated ones, near -1, are not special. */
RM_NONE_DECIDED(expm1, 1)

RM_FAST_PHASE(expm1, EXPM1, 1)
