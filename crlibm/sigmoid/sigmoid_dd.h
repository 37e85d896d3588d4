/* The logistic sigmoid, and products with it, in double-double: for the fast phase of f64 and the accurate phase of every
 * format.
 *
 * w = e^-a, a = |t| <= 670, D = 1 + w: sigmoid(a) = 1/D, sigmoid(-a) = w/D, sigmoid'(t) = w/D^2. Relative errors:
 *   w        RM_EXP_DD_ERR <= 1.375 2^-69 (which holds for a sum with one more rounding), made wh + wl, |wl| <= 2^-53 wh,
 *            without error (Fast2Sum). It enters the results w/D times, 1/D times and (1-w)/D times: at most once
 *   D        Fast2Sum; dl = ... + wl rounds by 2^-105
 *   products of parts below 2^-52 of the result: 2^-103 each
 *   N/D      q within 2^-49; its residual, exact but for 2^-101, times the reciprocal's 2^-27: 2^-76
 * Sum below 1.5 2^-69 = RM_SIGMOID_DD_ERR; |lo| <= 2^-48 |hi|, so that Ziv's rounding test's lo + err adds nothing. */
#pragma once

#include "../exp/exp_dd.h"
#include "sigmoid_b64.h"

#define RM_SIGMOID_DD_ERR RM_BOUND(0x1.8p-69)
#define RM_SIGMOID_DD_MAX 670.0 /* e^-a and its low part are normal */

/* |t| cut to that; a NaN stays. */
RM_FN vf64 rm_sigmoid_size(vf64 t) { return vf64_min(vf64_set1(RM_SIGMOID_DD_MAX), vf64_abs(t)); }

/* h + l, |h| >= |l| or h = 0, as a double-double number. */
RM_FN void rm_sigmoid_normalise(vf64 h, vf64 l, vf64 *hi, vf64 *lo) { *hi = vf64_fast_two_sum(h, l, lo); }

/* e^-(a + al) = wh + wl and 1 + e^-(a + al) = dh + dl, |al| <= 2^-44. */
RM_FN void rm_sigmoid_terms_dd(vf64 a, vf64 al, vf64 *wh, vf64 *wl, vf64 *dh, vf64 *dl) {
  const vf64 one = vf64_set1(1.0);
  vf64 hi, lo, err;
  rm_exp_sum_dd(vf64_neg(a), vf64_neg(al), &hi, &lo, &err);
  rm_sigmoid_normalise(hi, lo, wh, wl);
  rm_sigmoid_normalise(one, *wh, dh, dl);
  *dl = vf64_add(*dl, *wl);
}

/* (nh + nl)/(dh + dl) = hi + lo, and 1/dh within 2^-27. hi has the sign of nh, also when that is a zero. */
RM_FN void rm_sigmoid_quotient_dd(vf64 nh, vf64 nl, vf64 dh, vf64 dl, vf64 *hi, vf64 *lo, vf64 *reciprocal) {
  vf64 q = vf64_quotient(nh, dh, reciprocal);
  vf64 b = vf64_mul(q, dh), be = vf64_mul_err(q, dh, b);
  vf64 residual = vf64_add(vf64_sub(vf64_sub(nh, b), be), vf64_nmad(q, dl, nl));
  *hi = vf64_copysign(q, nh);
  *lo = vf64_mul(residual, *reciprocal);
}

/* (ah + al)(bh + bl) = ph + pl. */
RM_FN void rm_sigmoid_times_dd(vf64 ah, vf64 al, vf64 bh, vf64 bl, vf64 *ph, vf64 *pl) {
  *ph = vf64_mul(ah, bh);
  *pl = vf64_mad(ah, bl, vf64_mad(al, bh, vf64_mul_err(ah, bh, *ph)));
}

/* hi + lo = sigmoid(x) within err, for x >= -670. */
RM_FN void rm_sigmoid_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 zero = vf64_set1(0.0);
  const vm64 negative = vf64_lt(x, zero);
  vf64 wh, wl, dh, dl, reciprocal;
  rm_sigmoid_terms_dd(rm_sigmoid_size(x), zero, &wh, &wl, &dh, &dl);
  rm_sigmoid_quotient_dd(vf64_select(negative, wh, vf64_set1(1.0)), vf64_select(negative, wl, zero), dh, dl, hi, lo,
                         &reciprocal);
  *err = vf64_mul(*hi, vf64_set1(RM_SIGMOID_DD_ERR));
}
