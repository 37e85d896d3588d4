/* atanh in double-double, for the fast phase of f64 and the accurate phase of every format: log(1 + u)/2, u = 2a/(1 - a), a
 * = |x|.
 *
 * 1 - a = bh + bl exactly. q = 2a/bh within 2^-49; 2a - q bh is exact but for one rounding of 2^-102 a, q bl and its
 * subtraction round by as much; times 1/bh within 2^-27: u is off by 2^-49-27 + 3 2^-102 < 2^-75.9 of itself, log(1 + u) by
 * no more. log_dd.h has the error of the logarithm. */
#pragma once

#include "../log/log_dd.h"

#define RM_ATANH_DD_ERR RM_BOUND(0x1p-75) /* times log(1 + u), beside the logarithm's */

/* hi + lo = atanh |x| within err, for 2^-900 <= |x| < 1. */
RM_FN void rm_atanh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), half = vf64_set1(0.5);
  vf64 a = vf64_abs(x), a2 = vf64_add(a, a), r;
  vf64 bl, bh = vf64_fast_two_difference(one, a, &bl);
  vf64 q = vf64_quotient(a2, bh, &r), p = vf64_mul(q, bh), pe = vf64_mul_err(q, bh, p);
  vf64 rest = vf64_nmad(q, bl, vf64_sub(vf64_sub(a2, p), pe)), ql = vf64_mul(rest, r);
  vf64 ul, uh = vf64_fast_two_sum(q, ql, &ul);
  rm_log1p_dd_of(uh, ul, hi, lo, err);
  *err = vf64_mul(half, vf64_mad(*hi, vf64_set1(RM_ATANH_DD_ERR), *err));
  *hi = vf64_mul(half, *hi);
  *lo = vf64_mul(half, *lo);
}
