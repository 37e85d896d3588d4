/* xlogy in double-double, and what xlog1py shares with it: a number times a logarithm.
 *
 * log = h + l within e (log_dd.h), u = 2^-53, t its cubic term. x h is exact in two parts, hi and p, |p| <= u |hi|.
 * Relative to |x t| the errors are 10.8u of h + l, 1u each for the product x l and its sum with p, as far as they come
 * from l, and 1.1u in Ziv's rounding test: below 14u. The sum's rounding of the parts below 2^-52 |hi|, and the other
 * errors of h + l, are below 2^-83 |hi|. err, 4/3 of e times |x|, is 16u |x t| + 1.3 2^-80 |hi|.
 *
 * Where 2^-960 <= |hi| <= 2^1020, p is exact, e |x| at least 2^-1040, and what underflows below 2^-1072. */
#pragma once

#include "../log/log_dd.h"

/* hi + lo = x log within err, for h + l = log within e by rm_log_dd, rm_log1p_dd or rm_log_any_dd, where hi is in that
 * range. */
RM_FN void rm_log_factor_dd(vf64 h, vf64 l, vf64 e, vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  *hi = vf64_mul(h, x);
  *lo = vf64_mad(l, x, vf64_mul_err(h, x, *hi));
  *err = vf64_mul(e, vf64_mul(vf64_abs(x), vf64_set1(0x1.56p+0))); /* 0x1.56 > 4/3 */
}

/* hi + lo = x log y within err, NaN where the product is out of range; y positive and normal. */
RM_FN void rm_xlogy_dd(vf64 x, vf64 y, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_log_dd(y, &h, &l, &e);
  rm_log_factor_dd(h, l, e, x, hi, lo, err);
  *err = vf64_bound_if_exact(*hi, vf64_eq(h, vf64_set1(0.0)), *err);
}
