/* exp10m1 in double-double: exp2m1_dd.h, with its error, for exp10's reduction. */
#pragma once

#include "../exp10/exp10_dd.h"
#include "../exp2m1/exp2m1_dd.h"

/* hi + lo = 10^x - 1 within err, for x <= 290, |x| >= 2^-960 or x = 0. */
RM_FN void rm_exp10m1_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k;
  vf64 rh, rl;
  rm_exp10_reduce_dd(vf64_max(vf64_set1(-27.0), x), &k, &rh, &rl);
  rm_exp2m1_reduced_dd(k, rh, rl, hi, lo, err);
}
