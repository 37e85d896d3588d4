/* exp2m1 and exp10m1 in double-double: expm1_dd.h with the reductions of exp2 and exp10.
 *
 * x is cut where b^x is below 2^-89. exp2's reduction leaves |rl| up to 1.6 2^-53 |rh|; Fast2Sum makes it 2^-53, as expm1's
 * bound asks. Its rounding and that of the constants are below 2^-104 |r|. exp10's argument is off by 2^-94, or 2^-104 of
 * itself where k = 0: relative to the result below 2^-88, for which the 2^-74 of that bound have room. */
#pragma once

#include "../exp2/exp2_dd.h"
#include "../expm1/expm1_dd.h"
#include "exp2m1_b64.h"

/* hi + lo = 2^(k/16) e^(rh + rl) - 1 within err. */
RM_FN void rm_exp2m1_reduced_dd(vi64 k, vf64 rh, vf64 rl, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h, c, t, eh, el, s;
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_joined_dd(rh, h, c, &eh, &el);
  rm_expm1_scaled_dd(k, eh, el, 0, hi, lo, &s);
  *err = rm_expm1_bound_dd(*hi, s, t);
}

/* hi + lo = 2^x - 1 within err, for x <= 966, |x| >= 2^-960 or x = 0. */
RM_FN void rm_exp2m1_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k;
  vf64 rh, rl;
  rm_exp2_reduce_dd(vf64_max(vf64_set1(-90.0), x), &k, &rh, &rl);
  rh = vf64_fast_two_sum(rh, rl, &rl);
  rm_exp2m1_reduced_dd(k, rh, rl, hi, lo, err);
}
