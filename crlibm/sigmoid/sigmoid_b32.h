/* sigmoid in binary32 (simd/b32.h): with E = e^-|x| in two parts, 1/(1 + E) for x >= 0 and E/(1 + E) below.
 *
 * Errors relative to the result. E = e + e_low, |e_low| < 2^-13 E, is within 2^-34.2 (exp_b32.h), which the quotient does not
 * enlarge. D = 1 + E = d + d_low: a Fast2Sum, and d_low below 2^-12.9 rounds by 2^-37.9. r is within 2^-23.8 of 1/D and q
 * within 2^-22.8 of numerator/D. The residual is n - q d and n_low - q d_low, below 2^-12.9 q and 2^-11.4 q and rounded:
 * 2^-36.9 and 2^-35.4 at the most, over D; their sum is below 2^-22.7 q: its rounding, r's error and that of lo +- err are
 * below 2^-45. Sum below 2^-33.6. x below -69 is left to binary64: there low parts would underflow. Beyond 88 the result is 1
 * whatever E is. */
#pragma once

#include "../exp/exp_b32.h"

#define RM_B32_sigmoid RM_B32_FULL

#define RM_SIGMOID_B32_ERR RM_BOUND(0x1.6p-34f)

#if RM_B32

/* hi + lo = sigmoid x within RM_SIGMOID_B32_ERR hi, for x >= -69. */
RM_FN void rm_sigmoid_b32_parts(vf32 x, vf32 *hi, vf32 *lo) {
  const vf32 one = vf32_set1(1.0f), zero = vf32_set1(0.0f);
  vf32 k, e, e_low;
  rm_exp_b32_parts(vf32_max(vf32_set1(-88.0f), vf32_copysign(x, vf32_set1(-1.0f))), zero, &k, &e, &e_low);
  e = vf32_scale(e, k);
  e_low = vf32_scale(e_low, k);
  vf32 d = vf32_add(one, e), d_low = vf32_add(vf32_sub(e, vf32_sub(d, one)), e_low);
  vm32 below = vf32_lt(x, zero);
  vf32 n = vf32_select(below, e, one), n_low = vf32_select(below, e_low, zero), r = vf32_reciprocal(vf32_add(d, d_low));
  *hi = vf32_mul(n, r);
  vf32 rest = vf32_add(vf32_fnma(*hi, d, n), vf32_fnma(*hi, d_low, n_low));
  *lo = vf32_mul(rest, r);
}

RM_FN vm32 rm_sigmoid_b32(vf32 x, vf32 *y) {
  vf32 hi, lo;
  rm_sigmoid_b32_parts(x, &hi, &lo);
  vm32 undecided = vf32_undecided_by(hi, lo, vf32_mul(hi, vf32_set1(RM_SIGMOID_B32_ERR)), y);
  return vm32_or(undecided, vf32_nle(vf32_set1(-69.0f), x));
}

#endif
