/* exp10 in double-double: exp_dd.h for y = x ln10 = yh + yl, |x| < 325.
 *
 *   x HI          exact in two parts, yh and at most 2^-44
 *   x LO          |x LO| < 2^-43.6, its rounding and the sum's below 2^-95, constant 325 2^-106
 * so |yl| < 2^-42.7, as exp_dd.h asks, and y is off by less than 2^-94. For a tiny x the error of the product underflows: y
 * is off by less than 2^-1070. */
#pragma once

#include "../exp/exp_dd.h"

RM_FN void rm_exp10_reduce_dd(vf64 x, vi64 *k, vf64 *rh, vf64 *rl) {
  const vf64 ln10 = vf64_set1(RM_EXP10_LN_HI);
  vf64 yh = vf64_mul(x, ln10);
  vf64 yl = vf64_mad(x, vf64_set1(RM_EXP10_LN_LO), vf64_mul_err(x, ln10, yh));
  rm_exp_reduce_dd(yh, yl, k, rh, rl);
}
