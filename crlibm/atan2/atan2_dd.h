/* atan2 in double-double, for the fast phase of f64 and the accurate phase of every format: atan's core (atan_dd.h) with
 * both coordinates, and its bound. For x < 0 it is pi minus the angle of (|x|, |y|). */
#pragma once

#include "../atan/atan_dd.h"

/* hi + lo = atan2(y, x) within err; |y| and |x| are 0 or between 2^-480 and 2^480, not both 0. */
RM_FN void rm_atan2_dd(vf64 y, vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_atan_direction_dd(vf64_abs(y), vf64_abs(x), hi, lo, err);
  rm_atan_left_dd(vf64_lt(x, vf64_set1(0.0)), hi, lo, err);
  const vi64 sign = vi64_and(vf64_bits(y), vi64_set1(INT64_MIN));
  *hi = vf64_from_bits(vi64_xor(vf64_bits(*hi), sign));
  *lo = vf64_from_bits(vi64_xor(vf64_bits(*lo), sign));
}
