/* softplus, log_sigmoid and logaddexp for f32 and the 16-bit formats, evaluated in binary64: all are big + log(1 + e^-d).
 *
 * t = e^-d by rm_exp_eval, 0 < t <= 1 + 2^-45. With 16 t nearest to j (at most 15) and c_j ~ 1/(1 + t) from a table, r =
 * (1 + t) c_j - 1 = t c_j + (c_j - 1), |r| <= 2^-5 (1 + 2^-40): log(1 + t) = -log c_j + log(1 + r), the latter as in
 * log_b64.h. For j = 0 the table gives 1 and r is t itself: the relative error stays for small t.
 *
 * Error relative to log(1 + t):
 *   t           its relative error times t/((1 + t) log(1 + t)) <= 1: rm_exp_eval 2^-45
 *   r           j != 0, log(1 + t) > 2^-5.1: t c_j and the sum round by 2^-53 each                         2^-46.9
 *   log(1 + r)  as in log_b64.h, |w| >= 2^-6 or w = 0                                                      2^-41.8
 * Sum below 2^-41.6; in softplus the sum with big >= 0 adds 2^-53: below RM_SOFTPLUS_B64_ERR. */
#pragma once

#include "../exp/exp_b64.h"
#include "../log/log_b64.h"
#include "softplus_tables.h"

#define RM_SOFTPLUS_B64_ERR RM_BOUND(0x1p-41)

/* log(1 + e^-d) within 2^-41.6 relatively, 0 <= d <= 88. */
RM_FN vf64 rm_softplus_tail(vf64 d) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 t = rm_exp_eval(vf64_neg(d));
  vi64 j = vf64_bits(vf64_mad(vf64_min(t, vf64_set1(0.9375)), vf64_set1(16.0), magic));
  vf64 c = vf64_lookup16(rm_softplus_c, j);
  return rm_log_sum(vf64_lookup16(rm_softplus_l, j), vf64_mad(t, c, vf64_sub(c, vf64_set1(1.0))));
}

/* For x >= -88. Beyond 88 the tail is that at 88, below 2^-126 as the true one is: too little to matter beside x, which is a
 * number of the format. */
RM_FN vf64 rm_softplus_eval(vf64 x) {
  return vf64_add(vf64_max(x, vf64_set1(0.0)), rm_softplus_tail(vf64_min(vf64_abs(x), vf64_set1(88.0))));
}
