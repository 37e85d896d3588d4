/* log2 in double-double, for the fast phase of f64 and the accurate phase of every format: log x times 1/ln2
 * (rm_log_times_dd, with its error). */
#pragma once

#include "../log/log_dd.h"

/* hi + lo = log2 x within err, for positive normal x. */
RM_FN void rm_log2_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_log_times_dd(x, RM_LOG_INV_LN2, RM_LOG_INV_LN2_LO, hi, lo, err);
}
