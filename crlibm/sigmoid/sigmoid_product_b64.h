/* A factor times the sigmoid or a related function (sigmoid_shapes.h), evaluated in binary64.
 *
 * The argument of gelu_tanh is computed in sixteenths of ln2, as x (c' + c'e x^2), x^2 exact: five roundings and errors of
 * constants at the most (the cubic term's constant and, without FMA, its product; the linear term's constant; the sum; the
 * product), each relatively below 2^-53. |x| <= 14, |t| < 219: absolutely 2^-50.67+7.78 = 2^-42.9, with exp's polynomial
 * 2^-42.7 for z; up to |x| = 11.5, |t| < 127, 2^-43.4. With z's error in the list of sigmoid_b64.h:
 *   g s                   2^-41.6, with the cubic argument, |x| <= 11.5, 2^-41.4
 *   g (z s) s             2^-40.7
 *   g s (1 + y), y = p (z s) = p (1 - s), p = x t'(x): absolutely, relative to |g s| (1 + |y|): s counts once, y at most
 *   once:
 *                         twice the reciprocal's 2^-41.9, and z's (z + 1)/(1+z) times, 2^-44.5 or 2^-42.7; p, sums and
 *                         products 2^-50: below 2^-40.5 */
#pragma once

#include "sigmoid_b64.h"
#include "sigmoid_shapes.h"

#define RM_SIGMOID_VALUE_B64_ERR RM_BOUND(0x1p-41)
#define RM_SIGMOID_SLOPE_B64_ERR RM_BOUND(0x1p-40)
#define RM_SIGMOID_SWISH_B64_ERR RM_BOUND(0x1p-40)

/* 16/ln2 times the argument of gelu_tanh; to be used with the scale -1. */
RM_FN vf64 rm_sigmoid_cubic(vf64 x) {
  return vf64_mul(x, vf64_mad(vf64_mul(x, x), vf64_set1(RM_SIGMOID_CUBIC_CE16), vf64_set1(RM_SIGMOID_CUBIC_C16)));
}
/* p = x t'(x) for it. */
RM_FN vf64 rm_sigmoid_cubic_p(vf64 x) {
  return vf64_mul(x, vf64_mad(vf64_mul(x, x), vf64_set1(RM_SIGMOID_CUBIC_3CE), vf64_set1(RM_SIGMOID_CUBIC_C)));
}

/* g sigmoid(t), t already cut, scaled as in rm_sigmoid_parts. */
RM_FN vf64 rm_sigmoid_value_eval(vf64 g, vf64 t, double scale) {
  vf64 z;
  return vf64_mul(g, rm_sigmoid_parts(t, scale, &z));
}

/* g sigmoid'(t). */
RM_FN vf64 rm_sigmoid_slope_eval(vf64 g, vf64 t, double scale) {
  vf64 z, s = rm_sigmoid_parts(t, scale, &z);
  return vf64_mul(vf64_mul(g, s), vf64_mul(z, s));
}

/* g (x sigmoid(t))' within *err, which has room for the test's roundings. */
RM_FN vf64 rm_sigmoid_swish_eval(vf64 g, vf64 t, double scale, vf64 p, vf64 *err) {
  const vf64 one = vf64_set1(1.0), e = vf64_set1(RM_SIGMOID_SWISH_B64_ERR);
  vf64 z, s = rm_sigmoid_parts(t, scale, &z), y = vf64_mul(p, vf64_mul(z, s)), gs = vf64_mul(g, s);
  *err = vf64_mul(vf64_abs(gs), vf64_mad(vf64_abs(y), e, e));
  return vf64_mul(gs, vf64_add(one, y));
}
