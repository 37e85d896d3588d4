/* softplus, log_sigmoid and logaddexp in double-double, for the fast phase of f64 and the accurate phase of every format:
 * big + log(1 + e^-d).
 *
 * t = e^-d in double-double (exp_dd.h), log(1 + t) = L by rm_log1p_dd_of, hi + lo = big + L by TwoSum. Errors:
 *   t          RM_EXP_DD_ERR relatively; L changes by at most that, relatively (t/((1 + t) log(1 + t)) <= 1)
 *   L          log_dd.h, 12u |s| + 2^-80 L, u = 2^-53 and s its cubic term, which includes one rounding of lo by 1.1u |s|
 *   lo         two more roundings, of the sum with the error of TwoSum: 1.1u |s|, and 2^-106 |hi|
 * Sum below 5/4 of L's bound + RM_EXP_DD_ERR L + 2^-104 |hi|. */
#pragma once

#include "../exp/exp_dd.h"
#include "../log/log_dd.h"
#include "softplus_b64.h"

/* hi + lo = big + log(1 + e^-(d + dl)) within err, for 0 <= d <= 660 (t > 2^-953), |dl| < 2^-42, finite big. |lo| and err may
 * exceed |hi| where the sum cancels. */
RM_FN void rm_softplus_sum_dd(vf64 big, vf64 d, vf64 dl, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 th, tl, lh, ll, low, e;
  rm_exp_sum_dd(vf64_neg(d), vf64_neg(dl), &th, &tl, &e);
  th = vf64_fast_two_sum(th, tl, &tl);
  rm_log1p_dd_of(th, tl, &lh, &ll, &e);
  vf64 sum = vf64_two_sum(big, lh, &low);
  *hi = sum;
  *lo = vf64_add(low, ll);
  e = vf64_mad(e, vf64_set1(1.25), vf64_mul(lh, vf64_set1(RM_EXP_DD_ERR)));
  *err = vf64_mad(vf64_abs(sum), vf64_set1(RM_BOUND(0x1p-104)), e);
}

/* For x >= -660. Beyond 660 the tail is that at 660, below 2^-950 as the true one is: hi = x, and RN(hi + lo -+ err) = x. */
RM_FN void rm_softplus_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 nought = vf64_set1(0.0);
  rm_softplus_sum_dd(vf64_max(x, nought), vf64_min(vf64_abs(x), vf64_set1(660.0)), nought, hi, lo, err);
}
