/* erfc in double-double where its results are below the range of exact products, for the accurate phases. */
#pragma once

#include "erfc_dd.h"

/* (hi + lo) 2^e = exp(-(q + ql)) (w + wl) within err 2^e, for 0 <= q <= 749, |ql| <= 2^-44; e is returned. As
 * rm_erfc_scaled_dd, but before the scaling: the high part of exp is between 1/2 and 2, so nothing underflows, and all errors
 * are those in erfc_dd.h times a power of two. */
RM_FN int rm_erfc_unscaled_dd(vf64 q, vf64 ql, vf64 w, vf64 wl, vf64 werr, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k;
  vf64 rh, rl, h, c, t, e, el, ee;
  rm_exp_reduce_dd(vf64_neg(q), vf64_neg(ql), &k, &rh, &rl);
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_unscaled_dd(k, rh, h, c, &e, &el, &ee);
  *hi = vf64_mul(e, w);
  *lo = vf64_mad(e, wl, vf64_mad(el, w, vf64_mul_err(e, w, *hi)));
  *err = vf64_mad(ee, vf64_abs(w), vf64_mul(e, werr));
  return (int16_t)k >> 4; /* k is below 2^15 in magnitude: its low 16 bits are all of it */
}
