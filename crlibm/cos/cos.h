/* cos: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../sin/sin_dd.h"
#include "cos_b64.h"

#define RM_COS_ODD 0

/* Beyond the fast reduction, NaN included. No cosine is subnormal but those of f16 at +-177.5 and +-532.5, more than 2^-16
 * from a midpoint (sin_gen.py). */
RM_FN vm64 rm_cos_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? RM_SIN_DD_MAX : RM_SIN_B64_MAX)));
}

/* Larger arguments: other reductions, which are not worth having in the fast phase. */
RM_FN vm64 rm_cos_decided(vf64 x, int format, vf64 *y) {
  if (format == RM_F64) return rm_sin_decide_dd(x, 1, vi64_set1(0), y);
  return rm_sin_decide_b64(x, rm_cos_eval_large(x), RM_COS_B64_ERR, format, y);
}

RM_FAST_PHASE_B64(cos, COS, 1)

RM_FN vm64 rm_cos_fast_f64(const vf64 *x, vf64 *y) {
  return vm64_or(rm_sin_turned_f64(x[0], 1, vi64_set1(0), 0, y), rm_cos_special(x[0], RM_F64));
}
