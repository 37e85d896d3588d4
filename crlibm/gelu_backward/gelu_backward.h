/* gelu_backward: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "gelu_backward_b64.h"
#include "gelu_backward_dd.h"

/* f64 only: where exp(-x^2/2) leaves the range of exact products. */
RM_FN vm64 rm_gelu_backward_special(vf64 g, vf64 x, int format) {
  (void)g, (void)format;
  return vf64_lt(x, vf64_set1(RM_GELU_BACKWARD_DD_MIN));
}

/* |g gelu'(x)| < 2^18 2^-1093 (x < -39), < 2^1024 2^-2100 (x < -54.5): RN gives a zero, and the derivative is negative. */
RM_FN vm64 rm_gelu_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  (void)format;
  const vf64 size = vf64_abs(g);
  vm64 zero = vm64_and(vf64_lt(x, vf64_set1(-39.0)), vf64_lt(size, vf64_set1(0x1p18)));
  zero = vm64_or(zero, vm64_and(vf64_lt(x, vf64_set1(-54.5)), vf64_le(size, vf64_set1(0x1.fffffffffffffp1023))));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), vf64_neg(g)), *y);
  return zero;
}

RM_FAST_PHASE_ANY(gelu_backward, GELU_BACKWARD, 2, 1)
