/* silu_backward: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "silu_backward_b64.h"
#include "silu_backward_dd.h"

/* x NaN, and where e^-|t| is no longer normal, which matters in f64 only. */
RM_FN vm64 rm_silu_backward_special(vf64 g, vf64 x, int format) {
  (void)g, (void)format;
  return vm64_not(vf64_le(vf64_set1(-RM_SIGMOID_DD_MAX), x));
}

/* |g| |x| e^x < 2^64 810 e^-810 < 2^-1075: RN gives a zero, and the derivative is negative. */
RM_FN vm64 rm_silu_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 zero = vm64_and(vf64_lt(x, vf64_set1(-810.0)), vf64_lt(vf64_abs(g), vf64_set1(0x1p64)));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), vf64_neg(g)), *y);
  return zero;
}

RM_FAST_PHASE_WITHIN(silu_backward, 2)
