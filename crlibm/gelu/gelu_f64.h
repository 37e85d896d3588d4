/* gelu in double-double, for f64 and as the second step of every format.
 *
 * As in gelu_f32.h, |x| cut to 36.5 in erfc. a = |x|/sqrt(2) = ah + al in two parts, within 2^-105 a; W(ah + al) = W(ah) + al
 * W'(ah) + ..., W' = 2 a W - 2/sqrt(pi), |al| <= 2^-52 a, |a W'| < W, |a^2 W''| < 2W: what is left out and the errors of the
 * correction (a cancellation of 11 bits at most) are below 2^-92 W. exp(-x^2/2) has its argument in two parts, exactly (for
 * |x| < 2^-480, without FMA, within 2^-950). So erfc's bound holds up to the product with |x|/2, whose low part rounds by
 * 2^-71 twice more: RM_GELU_F64_ERR times the result is added. */
#ifndef RM_GELU_F64_H
#define RM_GELU_F64_H

#include "../erfc/erfc_f64.h"
#include "gelu_tables.h"

#define RM_GELU_F64_ERR RM_BOUND(0x1p-70)

/* h + l = W(|x|/sqrt(2)) within err, for |x| < 39. */
RM_FN void rm_gelu_erfcx_dd(vf64 x, vf64 *h, vf64 *l, vf64 *err) {
  const vf64 s = vf64_set1(RM_GELU_SQRT_HALF), a = vf64_mul(x, s);
  vf64 al = vf64_mad(x, vf64_set1(RM_GELU_SQRT_HALF_LO), vf64_mul_err(x, s, a));
  rm_erfcx_dd(a, h, l, err);
  *l = vf64_mad(al, vf64_mad(vf64_add(a, a), *h, vf64_set1(-RM_GELU_2_SQRTPI)), *l);
}

/* hi + lo = |gelu x| within err, for x >= -36.5 and |x| 0 or at least 2^-960. */
RM_FN void rm_gelu_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 half = vf64_set1(0.5);
  vf64 a = vf64_min(vf64_set1(36.5), vf64_abs(x)), m = vf64_mul(a, half), q = vf64_mul(m, a), w, wl, werr, h, l;
  rm_gelu_erfcx_dd(a, &w, &wl, &werr);
  rm_erfc_scaled_dd(q, vf64_mul_err(m, a, q), w, wl, werr, &h, &l, err);
  rm_erfc_reflect_dd(vf64_le(vf64_set1(0.0), x), 2.0, &h, &l, err);
  m = vf64_mul(vf64_abs(x), half);
  *hi = vf64_mul(m, h);
  *lo = vf64_mad(m, l, vf64_mul_err(m, h, *hi));
  *err = vf64_mad(m, *err, vf64_mul(*hi, vf64_set1(RM_GELU_F64_ERR)));
}

#endif
