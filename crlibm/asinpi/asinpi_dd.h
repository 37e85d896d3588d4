/* asinpi in double-double: asin's angle (asin_dd.h) over pi. */
#pragma once

#include "../asinpi/over_pi_dd.h"
#include "../asin/asin_dd.h"

/* hi + lo = asin |x|/pi within err; |x| is 0 or 2^-960 <= |x| <= 1. */
RM_FN void rm_asinpi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_asin_dd(x, &h, &l, &e);
  rm_over_pi_dd(h, l, e, hi, lo, err);
}
