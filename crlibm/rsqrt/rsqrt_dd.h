/* rsqrt in double-double, for f64.
 *
 * r = vf64_rsqrt(x) is within 2^-40; with e = 1 - x r^2, |e| < 2^-38.9: 1/sqrt(x) = r (1-e)^(-1/2) = r + r e/2 + ...
 *   x r = s + se, s r = t + te   exact: s is near sqrt(x), t near 1
 *   1 - t                        exact: t is within 2^-38 of 1
 *   - te - se r                  three roundings of numbers below 2^-38: 2^-90
 *   series                       3/8 e^2 (1 + 2^-38) < 2^-79.2
 *   product, lo + err            2^-92 each
 * Sum, relative to the result, below 2^-79.1 < RM_RSQRT_DD_ERR. */
#pragma once

#include "rsqrt_b64.h"

#define RM_RSQRT_DD_ERR RM_BOUND(0x1p-79)

/* hi + lo = 1/sqrt(x) within err, for 2^-1022 <= x < 2^996. */
RM_FN void rm_rsqrt_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 r = vf64_rsqrt(x);
  vf64 s = vf64_mul(x, r), se = vf64_mul_err(x, r, s);
  vf64 t = vf64_mul(s, r), te = vf64_mul_err(s, r, t);
  vf64 e = vf64_nmad(se, r, vf64_sub(vf64_sub(vf64_set1(1.0), t), te));
  *hi = r;
  *lo = vf64_mul(vf64_mul(r, vf64_set1(0.5)), e);
  *err = vf64_mul(r, vf64_set1(RM_RSQRT_DD_ERR));
}
