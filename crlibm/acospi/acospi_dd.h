/* acospi in double-double: acos's angle (acos_dd.h) over pi. */
#pragma once

#include "../asinpi/over_pi_dd.h"
#include "../acos/acos_dd.h"

/* hi + lo = acos x/pi within err; |x| <= 1. hi = lo = 0 for x = 1. */
RM_FN void rm_acospi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_acos_dd(x, &h, &l, &e);
  rm_over_pi_dd(h, l, e, hi, lo, err);
}
