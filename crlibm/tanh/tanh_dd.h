/* tanh in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * tanh a = E / (E + 2), E = e^(2a) - 1 as in expm1_dd.h, 0 <= a, cut to 20 (1 - tanh 20 < 2^-56).
 *
 * s and t as there, E is off by less than s (12u|t| + 2^-80 [k != 0]) and 2^-97 E, u = 2^-53, and tanh = 1 - 2/(E + 2) by
 * 2/(E + 2)^2 times that; E + 2 = 1 + s (1 + e), so 2s/(E + 2)^2 < 1/(2 (1 + e)) < 0.52 (s'/(1 + s')^2 <= 1/4 for every s' =
 * s (1 + e) > 0). From s = 2^53 on, s - 1 is rounded: 1 - tanh a < 2^-51 and an error of E of 2^-53 relatively changes tanh
 * by 2^-104.
 *   D = E + 2  TwoSum of (2, E), low parts as E's
 *   E / D      q within 2^-49, its residual in double-double, |lo| <= 2^-47.5 q, times the reciprocal's 2^-27: 2^-74.5
 * Error below 7u|t| + 2^-80 + 2^-74 tanh a with tanh a > 2^-7 when k != 0. */
#pragma once

#include "../expm1/expm1_dd.h"

#define RM_TANH_DD_ERR_T RM_BOUND(0x1p-50) /* 8u, times |t| */
#define RM_TANH_DD_ERR RM_BOUND(0x1p-72)   /* times tanh a */

/* hi + lo = tanh |x| within err; |x| is 0 or at least 2^-960. */
RM_FN void rm_tanh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 two = vf64_set1(2.0);
  vf64 a = vf64_min(vf64_set1(20.0), vf64_abs(x));
  vf64 nh, nl, s, t;
  rm_expm1_core_dd(vf64_add(a, a), 1, &nh, &nl, &s, &t);
  vf64 dl, dh = vf64_two_sum(two, nh, &dl);
  dl = vf64_add(dl, nl);
  vf64 reciprocal, q = vf64_quotient(nh, dh, &reciprocal);
  vf64 b = vf64_mul(q, dh), be = vf64_mul_err(q, dh, b);
  vf64 residual = vf64_add(vf64_sub(vf64_sub(nh, b), be), vf64_nmad(q, dl, nl));
  *hi = q;
  *lo = vf64_mul(residual, reciprocal);
  *err = vf64_mad(vf64_abs(t), vf64_set1(RM_TANH_DD_ERR_T), vf64_mul(q, vf64_set1(RM_TANH_DD_ERR)));
}
