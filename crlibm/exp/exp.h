/* exp: the fast kernels and their domain. */
#pragma once

#include "exp_b64.h"
#include "exp_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_EXP_ODD 0

/* Lanes outside the range in which the result is normal in the format, NaN included: e^-9.7 > 2^-14, e^9.7 < 65504;
 * e^-87.3 > 2^-126, e^87.3 < 2^128; e^-708.3 > 2^-1022, e^708.3 < 2^1024. */
RM_FN vm64 rm_exp_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? 708.3 : format == RM_F16 ? 9.7 : 87.3)));
}

/* Special lanes with a known result, put into *y. Masked scores (-inf) and far tails are common: they must not be computed
 * one by one. In f64 RN gives +0 where e^x is below 2^-1075, half the smallest subnormal number. In f32 and the 16-bit
 * formats the evaluation decides all of them, NaN apart: beyond its range the result is 0 or infinite in any of these
 * formats. For |c x| < 2^14 it is within 2^-43.4: eight times what its constant and product err by at 2^11 (exp_b64.h), below
 * four times RM_EXP_B64_ERR. */
RM_FN vm64 rm_exp_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) {
    const vf64 end = vf64_set1(700.0);
    return vf64_decide_any(rm_exp_eval(vf64_min(end, vf64_max(vf64_neg(end), x))), 4.0 * RM_EXP_B64_ERR, format, y);
  }
  return vf64_decide_zero(vf64_lt(x, vf64_set1(-745.2)), y);
}

RM_FAST_PHASE_B64(exp, EXP, 1)

RM_FN vm64 rm_exp_fast_f64(const vf64 *x, vf64 *y) {
  vi64 k;
  vf64 rh, rl;
  rm_exp_reduce_dd(x[0], vf64_set1(0.0), &k, &rh, &rl);
  return vm64_or(rm_exp_special(x[0], RM_F64), rm_exp_fast_dd(k, rh, rl, RM_EXP_DD_ERR, y));
}
