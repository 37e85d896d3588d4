/* exp2m1: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "exp2m1_b64.h"
#include "exp2m1_dd.h"

#define RM_EXP2M1_ODD 1 /* the kernels evaluate at x itself; the result has the sign of x, also when it is zero */

/* Lanes whose result overflows or nearly so, and NaN; for f64 also where low parts would not be exact: beyond 966, and for 0
 * < |x| < 2^-960. */
RM_FN vm64 rm_exp2m1_special(vf64 x, int format) {
  const vm64 large = vm64_not(vf64_le(x, vf64_set1(format == RM_F64 ? 966.0 : format == RM_F16 ? 15.99 : 127.9)));
  return format == RM_F64 ? vm64_or(large, vf64_special_odd(x, format)) : large;
}

/* In f32 and the 16-bit formats the evaluation decides all lanes but NaN; from 1000 on results are infinite in each. */
RM_FN vm64 rm_exp2m1_decided(vf64 x, int format, vf64 *y) {
  if (format == RM_F64) return vf64_lt(x, x);
  const vf64 v = rm_exp2m1_eval(vf64_min(vf64_set1(1000.0), x));
  return vf64_decide_any(vf64_copysign(v, x), 2.0 * RM_EXP2M1_B64_ERR, format, y);
}

RM_FAST_PHASE_B64_ANY(exp2m1, EXP2M1, 1)
RM_FAST_PHASE_DD(exp2m1, 1, 1)
