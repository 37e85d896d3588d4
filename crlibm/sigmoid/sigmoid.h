/* sigmoid: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "sigmoid_b64.h"
#include "sigmoid_dd.h"
#include "../simd/machine.h"

/* NaN, and x < -670, where results are or become subnormal (that matters in f64 only). */
RM_FN vm64 rm_sigmoid_special(vf64 x, int format) {
  (void)format;
  return vm64_not(vf64_le(vf64_set1(-RM_SIGMOID_DD_MAX), x));
}

/* sigmoid(x) < e^x < 2^-1075: RN gives +0. */
RM_FN vm64 rm_sigmoid_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_zero(vf64_lt(x, vf64_set1(-745.2)), y);
}

RM_FAST_PHASE_ANY(sigmoid, SIGMOID, 1, 0)
