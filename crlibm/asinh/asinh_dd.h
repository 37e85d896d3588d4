/* asinh in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * a = |x|, v = 1 + a^2, S = sqrt(v), asinh a = log(a + S) = log(1 + u), u = a + (S - 1). Beyond a = 2^90 S is replaced by a,
 * which changes the logarithm (above 63) by less than 2^-180.
 *   v        a^2 exact in two parts, TwoSum with 1; the low parts' sum rounds by 2^-105 v. |vl| <= 2^-52 vh
 *   S        s + sl within 2^-101 (rm_log_root_low), s >= a as S is. Beyond 2^90 v is that of c = 2^90, whose s is at most
 *            the number after 2^90, so s = a, and sl = 0 by selection
 *   a + S    Fast2Sum; the low parts' sum rounds by 2^-104
 *   u        used below 2^-5 only: s - 1 exact; |s - 1| <= a: Fast2Sum, normalised by another one
 * u >= 2^-26 is off by less than 2^-75 of itself, so is the logarithm; elsewhere |log| > 2^-5. log_dd.h has its error. */
#pragma once

#include "../log/log_root_dd.h"

#define RM_ASINH_DD_ERR RM_BOUND(0x1p-74) /* times asinh |x|, beside the logarithm's */

/* hi + lo = asinh |x| within err, for 2^-26 <= |x| < 2^1021. */
RM_FN void rm_asinh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), big = vf64_set1(0x1p90);
  vf64 a = vf64_abs(x), c = vf64_min(big, a), r;
  vf64 p = vf64_mul(c, c), pe = vf64_mul_err(c, c, p);
  vf64 vl, vh = vf64_two_sum(one, p, &vl);
  vl = vf64_add(vl, pe);
  vf64 s = vf64_max(vf64_root(vh, &r), a);
  vf64 sl = vf64_select(vf64_lt(big, a), vf64_set1(0.0), rm_log_root_low(vh, vl, s, r));
  vf64 yl, yh = vf64_fast_two_sum(s, a, &yl);
  yl = vf64_add(yl, sl);
  vf64 m = vf64_sub(s, one), gl, g = vf64_fast_two_sum(a, m, &gl);
  gl = vf64_add(gl, sl);
  vf64 ul, uh = vf64_fast_two_sum(g, gl, &ul);
  rm_log_near_dd(yh, yl, uh, ul, hi, lo, err);
  *err = vf64_mad(*hi, vf64_set1(RM_ASINH_DD_ERR), *err);
}
