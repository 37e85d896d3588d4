/* cbrt in double-double, for f64.
 *
 * u = cbrt m (1 + d), |d| < 2^-45.8, from cbrt_b64.h; one Newton step with an exact cube: cbrt m = u + (m - u^3)/(3u^2) (1 +
 * d').
 *   u^2 = p + pe, p u = q + qe   exact (all numbers are between 1/2 and 8)
 *   m - q                        exact: q is within 2^-44 of m
 *   - qe - pe u                  three roundings of numbers below 2^-44 m: 2^-96
 *   Newton                       the next term of the series is d^2 u: 2^-91.6
 *   1/(3 RN(u^2))                2^-27 (vf64_quotient) + 2^-52, relative to the correction, which is below 2^-45.8 u: 2^-72.8
 *   product, lo + err            2^-98 each
 * Sum below 2^-72.7 < RM_CBRT_DD_ERR. hi = u, and hi, lo are scaled exactly: the result lies between 2^-341 and 2^342. */
#pragma once

#include "cbrt_b64.h"

#define RM_CBRT_DD_ERR RM_BOUND(0x1p-72)

/* hi + lo = cbrt |x| within err, for normal x. */
RM_FN void rm_cbrt_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 m, reciprocal;
  vi64 scale;
  vf64 u = rm_cbrt_reduced(vf64_abs(x), &m, &scale);
  vf64 p = vf64_mul(u, u), pe = vf64_mul_err(u, u, p);
  vf64 q = vf64_mul(p, u), qe = vf64_mul_err(p, u, q);
  vf64 d = vf64_nmad(pe, u, vf64_sub(vf64_sub(m, q), qe));
  (void)vf64_quotient(d, vf64_mul(vf64_set1(3.0), p), &reciprocal);
  *hi = vf64_from_bits(vi64_add(vf64_bits(u), scale));
  *lo = vf64_mul(vf64_mul(d, reciprocal), vf64_from_bits(vi64_add(vf64_bits(vf64_set1(1.0)), scale)));
  *err = vf64_mul(*hi, vf64_set1(RM_CBRT_DD_ERR));
}
