/* erfinv of 1 - v in double-double for tiny v, for the accurate phase of ndtri. */
#pragma once

#include "../fp/exact.h"
#include "erfinv_dd.h"

/* erfinv(1 - v) within RM_ERFINV_B64_ERR for 0 < v < RM_ERFINV_NEAR_MIN: w = -log(2 v), v being scaled. */
RM_FN double rm_erfinv_far_of(double v) {
  return rm_erfinv_ratio(rm_log_eval(v * 0x1p257) - 0x1.62e42fefa39efp+7, rm_erfinv_far);
}

/* hi + lo = z within err, erfc z = v, for such a v: 10.7 < z < 27.3.
 *
 * The step of rm_erfinv_step_dd with d = z - y below 2^-40 y, y^2 < 746; but exp(y^2) = (e + el) 2^k is taken before the
 * scaling, and v times 2^k is exact, between 2^-7 and 2^-3. So nothing over- or underflows, and the bound is the one derived
 * there. */
RM_FN void rm_erfinv_tail_dd(double v, double *hi, double *lo, double *err) {
  const double y = rm_erfinv_far_of(v), q = y * y;
  double w, wl, werr, rh, rl, h, s, t, e, el, ee;
  vi64 k;
  int exponent;
  rm_erfc_w_dd(y, &w, &wl, &werr);
  rm_exp_reduce_dd(q, vf64_mul_err(y, y, q), &k, &rh, &rl);
  rm_exp_series_dd(rh, rl, &h, &s, &t);
  rm_exp_unscaled_dd(k, rh, h, s, &e, &el, &ee);
  const double m = (double)rm_decompose(v, &exponent), scaled = m * rm_pow2(exponent + ((int16_t)k >> 4));
  const double p = scaled * e, pl = vf64_mad(scaled, el, vf64_mul_err(scaled, e, p));
  const double r = RM_ERFINV_HALF_SQRTPI * ((w - p) + (wl - pl));
  *err = vf64_mad(w, RM_ERFINV_DD_ERR, vf64_mad(scaled, ee, werr)) * 0.887;
  *hi = y;
  *lo = vf64_mad(y * r, r, r);
}
