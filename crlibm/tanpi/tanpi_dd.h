/* tanpi in double-double: tan's division (tan_dd.h) of the sine and cosine of sinpi_dd.h, whose error of the reduction is
 * within the bounds of either there too. */
#pragma once

#include "../sinpi/sinpi_dd.h"
#include "../tan/tan_dd.h"
#include "tanpi_b64.h"

/* hi + lo = tan(pi x) within err, hi with the sign that a zero has, for x = 0 or 2^-960 <= |x| <= RM_SINPI_MAX; unknown at
 * the poles. */
RM_FN void rm_tanpi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k; /* counts 16ths */
  vf64 rh, rl;
  rm_sinpi_reduce_dd(vf64_abs(x), &k, &rh, &rl);
  rm_tan_reduced_dd(k, rh, rl, vf64_set1(0.0), hi, lo, err);
  const vi64 flip = rm_tanpi_sign(x, vi64_srl(k, 3), vf64_eq(*hi, vf64_set1(0.0)));
  *hi = rm_sin_flip(*hi, flip);
  *lo = rm_sin_flip(*lo, flip);
}
