/* sinh: the fast kernels and their domain. */
#pragma once

#include "sinh_b64.h"
#include "sinh_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_SINH_ODD 1

/* Lanes whose result overflows or nearly so, and NaN: e^11.77/2 < 65504, e^89.4/2 < 2^128 (1 - 2^-9); for f64 low parts must
 * be exact: e^-670/2 > 2^-968. A subnormal result is that of a subnormal x, and |sinh x| = |x| (1 + x^2/6 + ...) is so close
 * above the number |x| that storing any value within the error bound gives x. The same lanes for cosh. */
RM_FN vm64 rm_sinh_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(format == RM_F64 ? 670.0 : format == RM_F16 ? 11.77 : 89.4)));
}

/* In f32 and the 16-bit formats the evaluation decides all lanes but NaN; beyond 700 results are infinite in any of them. Up
 * to there the reduced argument errs by 2^-53.. of x for the product (without FMA) and 2^-54 for the constant: 2^-42.8 of the
 * result, which with the bound of the evaluation itself is below 4 times that. */
RM_FN vm64 rm_sinh_decided(vf64 x, int format, vf64 *y) {
  const vf64 end = vf64_set1(700.0);
  if (format != RM_F64)
    return vf64_decide_any(vf64_copysign(rm_sinh_eval(vf64_min(end, vf64_abs(x))), x), 4.0 * RM_SINH_B64_ERR, format, y);
  return vf64_lt(x, x);
}

RM_FAST_PHASE(sinh, SINH, 1)
