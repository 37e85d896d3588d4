/* acos in double-double, for the fast phase of f64 and the accurate phase of every format: the angle of (x, sqrt(1 - x^2)),
 * by asin's root and atan's core, whose bounds hold here too. For x < 0 it is pi minus the angle of (|x|, sqrt(1 - x^2)).
 * Where products with |x| < 2^-968 have inexact errors, these are below 2^-1070, and the result is near pi/2. */
#pragma once

#include "../asin/asin_dd.h"

/* hi + lo = acos x within err, |x| <= 1. hi = lo = 0 for x = 1. */
RM_FN void rm_acos_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 b = vf64_abs(x), sh, sl, nh, nl, dh, dl;
  rm_asin_other_side_dd(b, &sh, &sl);
  vi64 j = rm_atan_sector(rm_atan_ratio(sh, vf64_max(b, vf64_set1(0x1p-500))));
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  rm_atan_turn_dd(sh, b, c, s, &nh, &nl, &dh, &dl);
  rm_atan_turned_dd(nh, vf64_mad(sl, c, nl), dh, vf64_mad(sl, s, dl), j, hi, lo, err);
  rm_atan_left_dd(vf64_lt(x, vf64_set1(0.0)), hi, lo, err);
}
