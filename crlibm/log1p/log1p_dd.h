/* log1p in double-double, for the fast phase of f64 and the accurate phase of every format: rm_log1p_dd_of (log_dd.h, with
 * its error). */
#pragma once

#include "../log/log_dd.h"

/* hi + lo = log(1 + x) within err, for -1 < x < 2^1023, |x| >= 2^-960 or x = 0. */
RM_FN void rm_log1p_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) { rm_log1p_dd_of(x, vf64_set1(0.0), hi, lo, err); }
