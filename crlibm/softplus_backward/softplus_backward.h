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

/* |g| sigmoid(x) < 2^64 e^-800 < 2^-1075: RN gives a zero.
 *
 * sigmoid(x) = 1/2 (1 + t), |t| < |x|/2: for |x| < 2^-57 the result is beside g/2, on the side that x says. A number g of
 * binary32 has 24 bits, so that g/2 times 1 + 2^-52 or 1 - 2^-52, which is off by less than three units of binary64, and more
 * than none, is on the same side of every boundary of rounding of that format. Where x is 0 the result is g/2, rounded. */
RM_FN vm64 rm_softplus_backward_decided(vf64 g, vf64 x, int format, vf64 *y) {
  const vm64 zero = vm64_and(vf64_lt(x, vf64_set1(-800.0)), vf64_lt(vf64_abs(g), vf64_set1(0x1p64)));
  *y = vf64_select(zero, vf64_copysign(vf64_set1(0.0), g), *y);
  if (format != RM_F32) return zero;
  const vm64 beside = vm64_and(vf64_lt(vf64_abs(x), vf64_set1(0x1p-57)), vf64_lt(vf64_abs(g), vf64_set1(0x1p128)));
  const vf64 most = vf64_set1(0x1p-52), far = vf64_max(vf64_neg(most), vf64_mul(x, vf64_set1(0x1p200)));
  const vf64 side = vf64_neg(vf64_max(vf64_neg(most), vf64_neg(far)));
  *y = vf64_select(beside, vf64_mul(vf64_mul(g, vf64_set1(0.5)), vf64_add(vf64_set1(1.0), side)), *y);
  return vm64_or(zero, beside);
}

RM_FAST_PHASE_ANY(softplus_backward, SOFTPLUS_BACKWARD, 2, 1)
