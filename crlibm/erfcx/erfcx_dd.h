/* erfcx in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * W(x) by erfc's table, 0 <= x < 28 (rm_erfc_w_dd, with its error); for x < 0 it is 2 exp(x^2) - W(-x). There x^2 is passed
 * to exp in two parts, exactly (for |x| < 2^-484, without FMA, within 2^-960). With u = 2^-53 and e = exp(x^2) >= W, the
 * result is at least e:
 *   exp        twice its own error, RM_EXP_DD_ERR e
 *   difference 2 e - w in two parts exactly, by Fast2Sum; 2 el - wl, below 2^-17 e, rounds by 2^-70 e, its sum with the
 *              rest by 2^-70 e, and lo + err in the rounding test by as much
 * Sum below the errors of exp and W, and 3 2^-70 of the result. */
#pragma once

#include "../erfc/erfc_dd.h"

#define RM_ERFCX_DD_MIN -25.8
#define RM_ERFCX_DD_MAX 27.5
#define RM_ERFCX_DD_ERR RM_BOUND(0x1p-68)

/* hi + lo = erfcx x within err, for -25.8 <= x < 28. */
RM_FN void rm_erfcx_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 a = vf64_min(vf64_set1(27.9), vf64_abs(x)), b = vf64_min(vf64_set1(25.8), a), q = vf64_mul(b, b);
  const vm64 negative = vf64_lt(x, vf64_set1(0.0));
  vf64 w, wl, werr, e, el, ee, low;
  rm_erfc_w_dd(a, &w, &wl, &werr);
  rm_exp_sum_dd(q, vf64_mul_err(b, b, q), &e, &el, &ee);
  const vf64 h = vf64_fast_two_difference(vf64_add(e, e), w, &low);
  const vf64 l = vf64_add(low, vf64_sub(vf64_add(el, el), wl));
  const vf64 both = vf64_mad(h, vf64_set1(RM_ERFCX_DD_ERR), vf64_add(vf64_add(ee, ee), werr));
  *hi = vf64_select(negative, h, w);
  *lo = vf64_select(negative, l, wl);
  *err = vf64_select(negative, both, werr);
}
