/* log10p1 in double-double: log(1 + x) (rm_log1p_dd_of) times 1/ln10 (rm_log_product_dd, with its error). */
#pragma once

#include "../log1p/log1p_dd.h"

/* hi + lo = log10(1 + x) within err, for -1 < x < 2^1023, |x| >= 2^-960 or x = 0. */
RM_FN void rm_log10p1_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_log1p_dd(x, &h, &l, &e);
  rm_log_product_dd(h, l, e, vf64_set1(RM_LOG_INV_LN10), RM_LOG_INV_LN10, RM_LOG_INV_LN10_LO, hi, lo, err);
}
