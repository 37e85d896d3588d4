/* acosh in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * v = x^2 - 1, S = sqrt(v), acosh x = log(x + S) = log(1 + u), u = S + (x - 1). Beyond x = 2^90 S is replaced by x, which
 * changes the logarithm (above 63) by less than 2^-180.
 *   v        x^2 exact in two parts; the high one minus 1 by Fast2Sum, exact when it is below 2; the low parts' sum rounds by
 *            2^-105 v; normalised by another Fast2Sum
 *   S        s + sl within 2^-101 (rm_log_root_low), d <= s <= x as S, d = RN(x - 1); beyond 2^53 s = x, beyond 2^90 sl = 0
 *            by selection
 *   x + S    Fast2Sum; the low parts' sum rounds by 2^-104
 *   u        used below 2^-5 only: d exact, d < s: Fast2Sum, normalised by another one
 * u is off by less than 2^-99 of itself; log_dd.h has the error of the logarithm, with room for this. */
#pragma once

#include "../log/log_root_dd.h"

/* hi + lo = acosh x within err, for 1 <= x < 2^1021. */
RM_FN void rm_acosh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), big = vf64_set1(0x1p90);
  vf64 c = vf64_min(big, x), d = vf64_sub(x, one), r;
  vf64 p = vf64_mul(c, c), pe = vf64_mul_err(c, c, p);
  vf64 ql, q = vf64_fast_two_difference(p, one, &ql);
  ql = vf64_add(ql, pe);
  vf64 vl, vh = vf64_fast_two_sum(q, ql, &vl);
  vf64 s = vf64_max(vf64_min(vf64_root(vh, &r), x), d);
  vf64 sl = vf64_select(vf64_lt(big, x), vf64_set1(0.0), rm_log_root_low(vh, vl, s, r));
  vf64 yl, yh = vf64_fast_two_sum(x, s, &yl);
  yl = vf64_add(yl, sl);
  vf64 gl, g = vf64_fast_two_sum(s, d, &gl);
  gl = vf64_add(gl, sl);
  vf64 ul, uh = vf64_fast_two_sum(g, gl, &ul);
  rm_log_near_dd(yh, yl, uh, ul, hi, lo, err);
}
