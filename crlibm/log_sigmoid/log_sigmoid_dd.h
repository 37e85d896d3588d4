/* log_sigmoid in double-double: log_sigmoid(x) = -softplus(-x), softplus_dd.h. */
#pragma once

#include "../softplus/softplus_dd.h"

/* For x <= 660. */
RM_FN void rm_log_sigmoid_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_softplus_dd(vf64_neg(x), hi, lo, err);
  *hi = vf64_neg(*hi);
  *lo = vf64_neg(*lo);
}
