/* erf_backward: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "erf_backward_b64.h"
#include "erf_backward_dd.h"

/* f64 only: where exp(-x^2) leaves the range of exact products. */
RM_FN vm64 rm_erf_backward_special(vf64 g, vf64 x, int format) {
  (void)g, (void)format;
  return vf64_lt(vf64_set1(RM_ERF_BACKWARD_DD_MAX), vf64_abs(x));
}

/* |g erf'(x)| < 2^7 1.13 exp(-27.4^2) < 2^-1075, < 2^1024 1.13 exp(-38.3^2) < 2^-1090: RN gives a zero. */
RM_FN vm64 rm_erf_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  (void)format;
  const vf64 size = vf64_abs(g), a = vf64_abs(x);
  vm64 zero = vm64_and(vf64_lt(vf64_set1(27.4), a), vf64_lt(size, vf64_set1(0x1p7)));
  zero = vm64_or(zero, vm64_and(vf64_lt(vf64_set1(38.3), a), vf64_le(size, vf64_set1(0x1.fffffffffffffp1023))));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), g), *y);
  return zero;
}

RM_FAST_PHASE_ANY(erf_backward, ERF_BACKWARD, 2, 1)
