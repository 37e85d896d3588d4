/* exp10: the fast kernels and their domain. */
#pragma once

#include "exp10_b64.h"
#include "exp10_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_EXP10_ODD 0

/* Lanes outside the range in which the result is normal in the format, NaN included: 10^-4.2 > 2^-14, 10^4.8 < 65504;
 * 10^-37.9 > 2^-126, 10^37.9 < 2^128; 10^-307.6 > 2^-1022, 10^307.6 < 2^1024. */
RM_FN vm64 rm_exp10_special(vf64 x, int format) {
  if (format == RM_F16) return vm64_not(vm64_and(vf64_le(vf64_set1(-4.2), x), vf64_le(x, vf64_set1(4.8))));
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? 307.6 : 37.9)));
}

/* Special lanes with a known result, put into *y: in f64 those where 10^x is below half the smallest subnormal number,
 * 2^-1075 > 10^-323.7, so that RN gives +0; in f32 and the 16-bit formats as in exp.h. */
RM_FN vm64 rm_exp10_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) {
    const vf64 end = vf64_set1(300.0);
    return vf64_decide_any(rm_exp10_eval(vf64_min(end, vf64_max(vf64_neg(end), x))), 4.0 * RM_EXP10_B64_ERR, format, y);
  }
  return vf64_decide_zero(vf64_lt(x, vf64_set1(-323.7)), y);
}

RM_FAST_PHASE_B64(exp10, EXP10, 1)

RM_FN vm64 rm_exp10_fast_f64(const vf64 *x, vf64 *y) {
  vi64 k;
  vf64 rh, rl;
  rm_exp10_reduce_dd(x[0], &k, &rh, &rl);
  return vm64_or(rm_exp10_special(x[0], RM_F64), rm_exp_fast_dd(k, rh, rl, RM_EXP_DD_ERR, y));
}
