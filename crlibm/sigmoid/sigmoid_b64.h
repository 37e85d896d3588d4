/* The logistic sigmoid, and functions made of it, for f32 and the 16-bit formats, evaluated in binary64.
 *
 * z = e^-t by exp's table and polynomial, s = 1/(1 + z) = sigmoid(t), z s = sigmoid(-t) = 1 - s, z s^2 = sigmoid'(t): no
 * subtraction, so every product has a small relative error. |t| is cut to 200: where that changes a product, it rounds to 0,
 * or to the same side of the same number.
 *
 * Relative errors, |t| <= 200, 16/ln2 |t| < 4617 (exp_b64.h has the same list for 2^11):
 *   z      the constant 16/ln2 2^-46.49, the product without FMA, half a unit 2^-41, 2^-45.52, the polynomial 2^-46.62, the
 *          rest 2^-51: together below 2^-44.5
 *   s      z z/(1+z), at most that of z; 1 + z 2^-53; vf64_reciprocal 2^-41.9                              < 2^-41.6
 *   z s    z's error counts 1/(1+z) <= 1 times                                                             < 2^-41.6
 *   z s^2  (1-z)/(1+z) in (-1,1) times that of z, twice the reciprocal's, 1 + z and products 2^-50.4        < 2^-40.7
 * A factor g adds 2^-53. */
#pragma once

#include "../exp/exp_b64.h"

#define RM_SIGMOID_B64_ERR RM_BOUND(0x1p-41)

/* *z = 2^(c t/16) and the result 1/(1 + z): the sigmoid of t for c = -16/ln2. |c t| <= 4617, or 5080 for c = -1, when c t
 * is exact. */
#define RM_SIGMOID_SCALE (-RM_EXP_INV_STEP)
RM_FN vf64 rm_sigmoid_parts(vf64 t, double c, vf64 *z) {
  *z = rm_exp_sixteenths(t, c);
  return vf64_reciprocal(vf64_add(vf64_set1(1.0), *z));
}

/* x cut to [-200, 200]; a NaN stays. */
RM_FN vf64 rm_sigmoid_cut(vf64 x) { return vf64_max(vf64_set1(-200.0), vf64_min(vf64_set1(200.0), x)); }

RM_FN vf64 rm_sigmoid_eval(vf64 x) {
  vf64 z;
  return rm_sigmoid_parts(rm_sigmoid_cut(x), RM_SIGMOID_SCALE, &z);
}
