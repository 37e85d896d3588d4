/* erf_backward in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * exp(-x^2) with its argument in two parts, exactly (for |x| < 2^-484, without FMA, within 2^-960): 1.375 2^-69 (exp_dd.h),
 * |lo| <= 2^-18 hi. g C, C = 2/sqrt(pi), in two parts within 2^-105. Their product rounds low parts by 2^-71 three times, and
 * lo + err once more. It is exact in two parts when between 2^-960 and 2^1020; other lanes get a NaN as bound, unless g =
 * 0. */
#pragma once

#include "../exp/exp_dd.h"
#include "erf_backward_tables.h"

#define RM_ERF_BACKWARD_DD_ERR RM_BOUND(0x1p-69) /* beside that of exp, relative */
#define RM_ERF_BACKWARD_DD_MAX 25.0 /* exp(-25^2) > 2^-902 */

/* hi + lo = g 2/sqrt(pi) exp(-x^2) within err, for |x| <= 25. hi has the sign of g, also when it is a zero. */
RM_FN void rm_erf_backward_dd(vf64 g, vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 c = vf64_set1(RM_ERF_SLOPE);
  vf64 a = vf64_min(vf64_set1(RM_ERF_BACKWARD_DD_MAX), vf64_abs(x)), q = vf64_mul(a, a), e, el, ee;
  rm_exp_sum_dd(vf64_neg(q), vf64_neg(vf64_mul_err(a, a, q)), &e, &el, &ee);
  vf64 m = vf64_mul(g, c), ml = vf64_mad(g, vf64_set1(RM_ERF_SLOPE_LO), vf64_mul_err(g, c, m));
  *hi = vf64_mul(m, e);
  *lo = vf64_mad(m, el, vf64_mad(ml, e, vf64_mul_err(m, e, *hi)));
  *err = vf64_mad(vf64_abs(m), ee, vf64_mul(vf64_abs(*hi), vf64_set1(RM_ERF_BACKWARD_DD_ERR)));
  *err = vf64_bound_if_exact(*hi, vf64_eq(g, vf64_set1(0.0)), *err);
}
