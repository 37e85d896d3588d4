/* expm1: the fast kernels and their domain. */
#pragma once

#include "expm1_b64.h"
#include "expm1_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

/* The kernels evaluate f(x) itself, which has the sign of x; the copied sign is that of a zero. */
#define RM_EXPM1_ODD 1

/* Lanes whose result overflows or nearly so, and NaN: e^11.08 < 65504, e^88.7 < 2^128; for f64 low parts must be exact, see
 * exp_dd.h. Results near 0 are those of x near 0: |e^x - 1 - x| < x^2 is so small against the number x of the format that,
 * in the subnormal range, storing any value within the error bound gives x. */
RM_FN vm64 rm_expm1_special(vf64 x, int format) {
  return vm64_not(vf64_le(x, vf64_set1(format == RM_F64 ? 670.0 : format == RM_F16 ? 11.08 : 88.7)));
}

/* In f32 and the 16-bit formats the evaluation decides all lanes but NaN; beyond 700 results are infinite in any of them. Up
 * to there the reduced argument errs by 2^-53.. of x for the product (without FMA) and 2^-54 for the constant: 2^-42.8 of the
 * result, which with the bound of the evaluation itself is below 2 times that. */
RM_FN vm64 rm_expm1_decided(vf64 x, int format, vf64 *y) {
  const vf64 end = vf64_set1(700.0);
  if (format != RM_F64)
    return vf64_decide_any(vf64_copysign(rm_expm1_eval(vf64_min(end, x)), x), 2.0 * RM_EXPM1_B64_ERR, format, y);
  return vf64_lt(x, x);
}

RM_FAST_PHASE(expm1, EXPM1, 1)
