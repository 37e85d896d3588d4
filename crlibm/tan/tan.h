/* tan: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "tan_b64.h"
#include "tan_dd.h"

#define RM_TAN_ODD 0 /* the kernels give the sign */

/* Beyond the fast reduction, NaN included; of f16 also the one argument whose tangent overflows (tan_gen.py). Tiny and
 * subnormal results: as in sin.h. */
RM_FN vm64 rm_tan_special(vf64 x, int format) {
  vf64 a = vf64_abs(x);
  vm64 beyond = vm64_not(vf64_le(a, vf64_set1(format == RM_F64 ? RM_SIN_DD_MAX : RM_SIN_B64_MAX)));
  return format == RM_F16 ? vm64_or(beyond, vf64_eq(a, vf64_set1(177.5))) : beyond;
}

/* Larger arguments: other reductions, which are not worth having in the fast phase. */
RM_FN vm64 rm_tan_decided(vf64 x, int format, vf64 *y) {
  vf64 v;
  if (format != RM_F64) return rm_sin_decide_b64(x, rm_tan_eval_large(x), RM_TAN_B64_ERR, format, y);
  vm64 undecided = rm_tan_f64(x, 1, &v);
  return rm_sin_decide(x, RM_SIN_DD_MAX, RM_SIN_DD_FAR, v, undecided, y);
}

RM_FAST_PHASE_B64(tan, TAN, 1)

RM_FN vm64 rm_tan_fast_f64(const vf64 *x, vf64 *y) { return vm64_or(rm_tan_f64(x[0], 0, y), rm_tan_special(x[0], RM_F64)); }
