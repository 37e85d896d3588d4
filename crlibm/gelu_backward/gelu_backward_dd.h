/* gelu_backward in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * As in gelu_backward_b64.h, |x| cut to 34: gelu'(-a) = exp(-a^2/2) D(a), D = W/2 - a k, k = 1/sqrt(2 pi) in two parts. W by
 * ndtr_dd.h within its bound; a k in two parts within 2^-104.1, their difference exact (TwoSum) but for low parts: 2^-102.4
 * (W/2 + a k). The product with exp and 1 - gelu'(-a) as in erfc_dd.h: 5 2^-71 of it. Where D is small against W/2 + a k, its
 * low part, below 2^-50.6 (W/2 + a k), rounds in each of the products and sums, without FMA five times: 2^-101, for which W's
 * bound has room: it is above the error of its fit by 2^-69 W. Near the zero of D the bound is large relatively, and more
 * lanes are undecided. The product with g rounds low parts by 2^-71 twice. It is exact in two parts when between 2^-960 and
 * 2^1020; other lanes get a NaN as bound, unless g = 0. */
#pragma once

#include "../ndtr/ndtr_dd.h"
#include "gelu_backward_tables.h"

#define RM_GELU_BACKWARD_DD_ERR_D RM_BOUND(0x1p-68) /* times |D| */
#define RM_GELU_BACKWARD_DD_ERR_SUM RM_BOUND(0x1p-102) /* times W/2 + a k */
#define RM_GELU_BACKWARD_DD_ERR RM_BOUND(0x1p-70) /* times the result */
#define RM_GELU_BACKWARD_DD_MIN -34.0 /* exp(-34^2/2) > 2^-834 */

/* hi + lo = g gelu'(x) within err, for x >= -34. hi has the sign of the product, also when that is a zero. */
RM_FN void rm_gelu_backward_dd(vf64 g, vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 half = vf64_set1(0.5), k = vf64_set1(RM_GELU_SLOPE_K);
  vf64 a = vf64_min(vf64_set1(-RM_GELU_BACKWARD_DD_MIN), vf64_abs(x)), m = vf64_mul(a, half), q = vf64_mul(m, a);
  vf64 w, wl, werr, h, l;
  rm_ndtr_erfcx_dd(a, &w, &wl, &werr);
  w = vf64_mul(w, half);
  vf64 p = vf64_mul(a, k), pl = vf64_mad(a, vf64_set1(RM_GELU_SLOPE_K_LO), vf64_mul_err(a, k, p));
  vf64 d = vf64_sub(w, p), z = vf64_sub(d, w), e = vf64_sub(vf64_sub(w, vf64_sub(d, z)), vf64_add(p, z));
  vf64 dl = vf64_mad(wl, half, vf64_sub(e, pl));
  vf64 derr = vf64_mad(werr, half, vf64_mul(vf64_add(w, p), vf64_set1(RM_GELU_BACKWARD_DD_ERR_SUM)));
  derr = vf64_mad(vf64_abs(d), vf64_set1(RM_GELU_BACKWARD_DD_ERR_D), derr);
  rm_erfc_scaled_dd(q, vf64_mul_err(m, a, q), d, dl, derr, &h, &l, err);
  rm_erfc_reflect_dd(vf64_le(vf64_set1(0.0), x), 1.0, &h, &l, err);
  *hi = vf64_mul(g, h);
  *lo = vf64_mad(g, l, vf64_mul_err(g, h, *hi));
  *err = vf64_mad(vf64_abs(g), *err, vf64_mul(vf64_abs(*hi), vf64_set1(RM_GELU_BACKWARD_DD_ERR)));
  *err = vf64_bound_if_exact(*hi, vf64_eq(g, vf64_set1(0.0)), *err);
}
