/* cosh: the fast kernels and their domain. */
#pragma once

#include "cosh_b64.h"
#include "cosh_dd.h"
#include "../sinh/sinh.h"
#include "../simd/machine.h"

#define RM_COSH_ODD 0

/* The lanes of sinh: the results overflow alike. */
RM_FN vm64 rm_cosh_special(vf64 x, int format) { return rm_sinh_special(x, format); }

/* In f32 and the 16-bit formats the evaluation decides all lanes but NaN; beyond 700 results are infinite in any of them. Up
 * to there the reduced argument errs by 2^-53.. of x for the product (without FMA) and 2^-54 for the constant: 2^-42.8 of the
 * result, which with the bound of the evaluation itself is below 4 times that. */
RM_FN vm64 rm_cosh_decided(vf64 x, int format, vf64 *y) {
  const vf64 end = vf64_set1(700.0);
  if (format != RM_F64) return vf64_decide_any(rm_cosh_eval(vf64_min(end, vf64_abs(x))), 4.0 * RM_COSH_B64_ERR, format, y);
  return vf64_lt(x, x);
}

RM_FAST_PHASE(cosh, COSH, 1)
