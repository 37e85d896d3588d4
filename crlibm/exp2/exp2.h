/* exp2: the fast kernels and their domain. */
#pragma once

#include "exp2_b64.h"
#include "exp2_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_EXP2_ODD 0

/* Lanes outside the range in which the result is normal in the format, NaN included; above the greatest exponent too. */
RM_FN vm64 rm_exp2_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? 1022.0 : format == RM_F16 ? 14.0 : 126.0)));
}

/* Special lanes with a known result, put into *y: in f64 those where 2^x is at most 2^-1075, half the smallest subnormal
 * number, so that RN gives +0, at the tie too; in f32 and the 16-bit formats as in exp.h. */
RM_FN vm64 rm_exp2_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) {
    const vf64 end = vf64_set1(1000.0);
    return vf64_decide_any(rm_exp2_eval(vf64_min(end, vf64_max(vf64_neg(end), x))), 4.0 * RM_EXP2_B64_ERR, format, y);
  }
  return vf64_decide_zero(vf64_le(x, vf64_set1(-1075.0)), y);
}

RM_FAST_PHASE_B64(exp2, EXP2, 1)

RM_FN vm64 rm_exp2_fast_f64(const vf64 *x, vf64 *y) {
  vi64 k;
  vf64 rh, rl;
  rm_exp2_reduce_dd(x[0], &k, &rh, &rl);
  return vm64_or(rm_exp2_special(x[0], RM_F64), rm_exp_fast_dd(k, rh, rl, RM_EXP_DD_ERR, y));
}
