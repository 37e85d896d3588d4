/* erfinv in double-double, for the fast phase of f64 and the accurate phase of every format; the core of ndtri as well.
 *
 * One step of an iteration on erf or erfc in double-double, from y of erfinv_b64.h, which is within 2^-40 of the result z
 * = y + d. With f(y) = exp(-y^2) 2/sqrt(pi), Taylor's series of erf(y + d) = u and erfc(y + d) = v about y are
 *   u - erf y = erfc y - v = f(y) (d - y d^2 + (2 y^2 - 1) d^3/3 - ...), so d = R + y R^2 + e,
 *   R = (u - erf y)/f(y) = (sqrt(pi)/2) (W(y) - v exp(y^2)),  |e| < 2 (y^2 + 1) |d|^3 < 2^-108 y for y < 27
 * (W(y) = exp(y^2) erfc y). u <= 1/16 takes the first form, where y < 0.0556, and q = y^2 < 0.0031: exp(q) = 1 + q + q^2/2
 * + q^3/6 within 2^-37. Others take the second. u, v are given in two parts. Errors of d:
 *   W - v exp   that of W (erfc_dd.h); that of exp times v; low parts, below 2^-18 W, round three times, vh el (without
 *               FMA), its sum and wl - pl: 2^-69 W. The high
 *               parts are within 2^-16 of each other: their difference is exact
 *   u - erf     that of erf (erf_dd.h), and 2^-69 of it for low parts, which are below 2^-17
 *   the rest    roundings of R, its factors and y R^2: 6 2^-53 |d| < 2^-90 y; exp: 2^-37 |d| < 2^-77 y; the sum lo + err of
 *               the test: 2^-53 |d|
 * Each is multiplied by sqrt(pi)/2 < 0.8863, for u - erf also by exp(q) < 1.0032. The factors 0.887 and 0.9 cover the
 * rest: 0.0007 2^-69 W > 2^-90 y for y < 3; beyond, W/y > 2^-10.5 and the bound of W is 2^-67 W at least; and 0.01 2^-67
 * erf y > 2^-75 y. */
#pragma once

#include "../erf/erf_dd.h"
#include "../erfc/erfc_dd.h"
#include "erfinv_b64.h"

#define RM_ERFINV_DD_ERR RM_BOUND(0x1p-69)
#define RM_ERFINV_DD_MIN 0x1p-950 /* of v, and of u unless it is 0: products in two parts stay exact */

/* hi + lo = erfinv(uh + ul) within err, from hi = y; vh + vl = 1 - (uh + ul), u >= 0. uh and vh as RM_ERFINV_DD_MIN
 * says. */
RM_FN void rm_erfinv_step_dd(vf64 y, vf64 uh, vf64 ul, vf64 vh, vf64 vl, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 c = vf64_set1(RM_ERFINV_HALF_SQRTPI), e69 = vf64_set1(RM_ERFINV_DD_ERR);
  const vf64 q = vf64_mul(y, y);
  const vm64 small = vf64_le(uh, vf64_set1(0.0625));
  vf64 r = vf64_set1(0.0);
  *err = r;
  if (!vm64_none(vm64_not(small))) {
    vf64 e, el, ee, w, wl, werr;
    rm_exp_sum_dd(q, vf64_mul_err(y, y, q), &e, &el, &ee);
    rm_erfc_w_dd(y, &w, &wl, &werr);
    vf64 p = vf64_mul(vh, e), pl = vf64_mad(vh, el, vf64_mad(vl, e, vf64_mul_err(vh, e, p)));
    r = vf64_mul(c, vf64_add(vf64_sub(w, p), vf64_sub(wl, pl)));
    *err = vf64_mul(vf64_mad(w, e69, vf64_mad(vh, ee, werr)), vf64_set1(0.887));
  }
  if (!vm64_none(small)) {
    const vf64 one = vf64_set1(1.0);
    vf64 h, l, herr;
    rm_erf_dd(y, &h, &l, &herr);
    vf64 e = vf64_mad(q, vf64_mad(q, vf64_mad(q, vf64_set1(1.0 / 6.0), vf64_set1(0.5)), one), one);
    vf64 central = vf64_mul(vf64_mul(c, e), vf64_add(vf64_sub(uh, h), vf64_sub(ul, l)));
    r = vf64_select(small, central, r);
    *err = vf64_select(small, vf64_mul(vf64_mad(h, e69, herr), vf64_set1(0.9)), *err);
  }
  *hi = y;
  *lo = vf64_mad(vf64_mul(y, r), r, r);
}

/* (hi, lo, err) <- sqrt(2) (hi, lo, err), hi = y: exact but for low parts, which are below 2^-40 y: without FMA lo s rounds,
 * the sum does, and lo SQRT2_LO is left out, 2^-91 y in all. err is multiplied by 1.42; 1.42 - sqrt(2) times 2^-67 W is more
 * than 2^-86 y. */
RM_FN void rm_erfinv_times_sqrt2_dd(vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 s = vf64_set1(RM_ERFINV_SQRT2), y = *hi;
  *hi = vf64_mul(y, s);
  *lo = vf64_mad(*lo, s, vf64_mad(y, vf64_set1(RM_ERFINV_SQRT2_LO), vf64_mul_err(y, s, *hi)));
  *err = vf64_mul(*err, vf64_set1(1.42));
}

/* 1 - u = v + vl, exactly (Fast2Sum), for 0 <= u <= 1. */
RM_FN vf64 rm_erfinv_one_less(vf64 u, vf64 *vl) { return vf64_fast_two_difference(vf64_set1(1.0), u, vl); }

/* hi + lo = erfinv |x| within err, for |x| < 1, x = 0 or |x| >= RM_ERFINV_DD_MIN. */
RM_FN void rm_erfinv_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 u = vf64_abs(x);
  vf64 vl, v = rm_erfinv_one_less(u, &vl);
  rm_erfinv_step_dd(rm_erfinv_of(u, v), u, vf64_set1(0.0), v, vl, hi, lo, err);
}
