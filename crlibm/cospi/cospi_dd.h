/* cospi in double-double: sinpi's core a quarter turn on (sinpi_dd.h). */
#pragma once

#include "../sinpi/sinpi_dd.h"

/* hi + lo = cos(pi x) within err, for |x| <= RM_SINPI_MAX; of zeros hi is +0. */
RM_FN void rm_cospi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_sinpi_turned_dd(x, 1, vi64_set1(0), hi, lo, err);
  *hi = vf64_add(*hi, vf64_set1(0.0));
}
