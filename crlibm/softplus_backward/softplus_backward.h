/* softplus_backward: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "softplus_backward_b64.h"
#include "softplus_backward_dd.h"

/* x NaN, and where e^x is no longer normal, which matters in f64 only. */
RM_FN vm64 rm_softplus_backward_special(vf64 g, vf64 x, int format) {
  (void)g, (void)format;
  return vm64_not(vf64_le(vf64_set1(-RM_SIGMOID_DD_MAX), x));
}

/* |g| sigmoid(x) < 2^64 e^-800 < 2^-1075: RN gives a zero. */
RM_FN vm64 rm_softplus_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 zero = vm64_and(vf64_lt(x, vf64_set1(-800.0)), vf64_lt(vf64_abs(g), vf64_set1(0x1p64)));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), g), *y);
  return zero;
}

RM_FAST_PHASE_ANY(softplus_backward, SOFTPLUS_BACKWARD, 2, 1)
