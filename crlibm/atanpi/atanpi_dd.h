/* atanpi in double-double: atan's angle (atan_dd.h) over pi. */
#pragma once

#include "../asinpi/over_pi_dd.h"
#include "../atan/atan_dd.h"

/* hi + lo = atan |x|/pi within err; |x| is 0 or at least 2^-960. */
RM_FN void rm_atanpi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, l, e;
  rm_atan_dd(x, &h, &l, &e);
  rm_over_pi_dd(h, l, e, hi, lo, err);
}
