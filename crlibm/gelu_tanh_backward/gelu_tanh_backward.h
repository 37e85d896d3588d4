/* gelu_tanh_backward: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "gelu_tanh_backward_b64.h"
#include "gelu_tanh_backward_dd.h"

/* x NaN, and where e^-|t| is no longer normal, which matters in f64 only. */
RM_FN vm64 rm_gelu_tanh_backward_special(vf64 g, vf64 x, int format) {
  (void)g, (void)format;
  return vm64_not(vf64_le(vf64_set1(-20.7), x));
}

/* |g| |x t'(x)| e^t(x) < 2^64 2400 e^-848 < 2^-1075: RN gives a zero, and the derivative is negative. */
RM_FN vm64 rm_gelu_tanh_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 zero = vm64_and(vf64_lt(x, vf64_set1(-22.5)), vf64_lt(vf64_abs(g), vf64_set1(0x1p64)));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), vf64_neg(g)), *y);
  return zero;
}

RM_FAST_PHASE_WITHIN(gelu_tanh_backward, 2)
