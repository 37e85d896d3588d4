/* sin: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "sin_b64.h"
#include "sin_dd.h"

#define RM_SIN_ODD 0 /* the kernels give the sign */

/* Beyond the fast reduction, NaN included. A tiny x has a result so close to the number x that storing any value within the
 * error bound gives x, in every format. The other subnormal results are those of f16 at +-355 and +-710, more than 2^-16 from
 * a midpoint (sin_gen.py). */
RM_FN vm64 rm_sin_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? RM_SIN_DD_MAX : RM_SIN_B64_MAX)));
}

/* Larger arguments: other reductions, which are not worth having in the fast phase. */
RM_FN vm64 rm_sin_decided(vf64 x, int format, vf64 *y) {
  if (format == RM_F64) return rm_sin_decide_dd(x, 0, vf64_bits(x), y);
  return rm_sin_decide_b64(x, rm_sin_eval_large(x), RM_SIN_B64_ERR, format, y);
}

RM_FAST_PHASE_B64(sin, SIN, 1)

RM_FN vm64 rm_sin_fast_f64(const vf64 *x, vf64 *y) {
  return vm64_or(rm_sin_turned_f64(x[0], 0, vf64_bits(x[0]), 0, y), rm_sin_special(x[0], RM_F64));
}
