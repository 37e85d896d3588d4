/* xlog1py in double-double: x times log(1 + y) (log1p_dd.h), by rm_log_factor_dd, with its error. */
#pragma once

#include "../log1p/log1p_dd.h"
#include "../xlogy/xlogy_dd.h"

/* hi + lo = x log(1 + y) within err, NaN where the product is out of range; -1 < y < 2^1023, |y| >= 2^-960 or y = 0. */
RM_FN void rm_xlog1py_dd(vf64 x, vf64 y, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_log1p_dd(y, &h, &l, &e);
  rm_log_factor_dd(vf64_copysign(h, y), l, e, x, hi, lo, err);
  *err = vf64_bound_if_exact(*hi, vf64_eq(y, vf64_set1(0.0)), *err);
}
