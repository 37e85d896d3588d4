/* gelu_tanh: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "gelu_tanh_b64.h"
#include "gelu_tanh_dd.h"

/* NaN, and where e^-|t| is no longer normal (t(-20.7) > -670), which matters in f64 only. */
RM_FN vm64 rm_gelu_tanh_special(vf64 x, int format) {
  (void)format;
  return vm64_not(vf64_le(vf64_set1(-20.7), x));
}

/* |x| e^t(x) < 2^-1075, t(-21.6) < -753: RN gives -0. */
RM_FN vm64 rm_gelu_tanh_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 zero = vf64_lt(x, vf64_set1(-21.6));
  *y = vf64_select(zero, vf64_set1(-0.0), *y);
  return zero;
}

RM_FAST_PHASE_ANY(gelu_tanh, GELU_TANH, 1, 0)
