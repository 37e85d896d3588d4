/* Phi(x) in double-double, for the fast phase of f64 and the accurate phase of every format; the core of gelu as well.
 *
 * As in ndtr_b64.h, |x| cut to 36.5. a = |x|/sqrt(2) = ah + al in two parts, within 2^-104 a; W(ah + al) = W(ah) + al W'(ah)
 * + ..., W' = 2 a W - 2/sqrt(pi), |al| <= 2^-52 a, |a W'| < W, |a^2 W''| < 2W: what is left out and the errors of the
 * correction (a cancellation of 11 bits at most; its product is off by 2u, with FMA 1u, and the constant by 1u) are below
 * 2^-92 W. exp(-x^2/2) has its argument in two parts, exactly (for |x| < 2^-480, without FMA, within 2^-950). So erfc's bound
 * holds; halves are exact. */
#pragma once

#include "../erfc/erfc_dd.h"
#include "ndtr_tables.h"

/* h + l = W(|x|/sqrt(2)) within err, for |x| < 39. */
RM_FN void rm_ndtr_erfcx_dd(vf64 x, vf64 *h, vf64 *l, vf64 *err) {
  const vf64 s = vf64_set1(RM_NDTR_SQRT_HALF), a = vf64_mul(x, s);
  vf64 al = vf64_mad(x, vf64_set1(RM_NDTR_SQRT_HALF_LO), vf64_mul_err(x, s, a));
  rm_erfc_w_dd(a, h, l, err);
  *l = vf64_mad(al, vf64_mad(vf64_add(a, a), *h, vf64_set1(-RM_NDTR_2_SQRTPI)), *l);
}

/* hi + lo = 2 Phi(x) within err, for x >= -36.5 and |x| 0 or at least 2^-960. */
RM_FN void rm_ndtr_twice_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 a = vf64_min(vf64_set1(36.5), vf64_abs(x)), m = vf64_mul(a, vf64_set1(0.5)), q = vf64_mul(m, a), w, wl, werr;
  rm_ndtr_erfcx_dd(a, &w, &wl, &werr);
  rm_erfc_scaled_dd(q, vf64_mul_err(m, a, q), w, wl, werr, hi, lo, err);
  rm_erfc_reflect_dd(vf64_le(vf64_set1(0.0), x), 2.0, hi, lo, err);
}

/* hi + lo = Phi(x) within err, same domain, hi > 2^-967. */
RM_FN void rm_ndtr_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 half = vf64_set1(0.5);
  rm_ndtr_twice_dd(x, hi, lo, err);
  *hi = vf64_mul(half, *hi);
  *lo = vf64_mul(half, *lo);
  *err = vf64_mul(half, *err);
}
