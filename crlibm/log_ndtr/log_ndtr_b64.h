/* log_ndtr, the logarithm of the normal distribution function, for f32 and the 16-bit formats, evaluated in binary64.
 *
 * With W and the table of erfc (erfc_b64.h), a = |x|/sqrt(2): for x < 0 it is -x^2/2 + log(W(a)/2), for x >= 0 log(1 - v), v
 * = exp(-x^2/2) W(a)/2 <= 1/2. Both logarithms are those of 1 + u (rm_log1p_of), u = W/2 - 1 resp. -v. Error, relative to the
 * result:
 *   x < 0   -x^2/2 is exact; |log(W/2)| >= log 2. W is within 2^-40.2, and u rounds by 2^-54, 2^-48 of 1 + u > 0.03: together
 *           2^-40.19/log 2 = 2^-39.66. The logarithm's own error is 2^-41.8, and the sum's rounding 2^-53
 *   x >= 0  v is within 2^-40.1 (ndtr_b64.h), times v/((1 - v) |log(1 - v)|) <= 1.45; the logarithm's own error is 2^-41.8
 * Sum below 2^-39.2. |x| is cut to 13.2; for x below that, and where v is below the normal range, see log_ndtr.h. */
#pragma once

#include "../log/log_b64.h"
#include "../ndtr/ndtr_b64.h"

#define RM_LOG_NDTR_B64_ERR RM_BOUND(0x1p-39)

RM_FN vf64 rm_log_ndtr_eval(vf64 x) {
  const vf64 a = vf64_min(vf64_set1(13.2), vf64_abs(x)), zero = vf64_set1(0.0);
  const vm64 negative = vf64_lt(x, zero);
  const vf64 w = vf64_mul(vf64_set1(0.5), rm_erfc_w_eval(vf64_mad(a, vf64_set1(RM_ERFCX_SCALE32_HALF), vf64_set1(1.0))));
  const vf64 q = vf64_mul(vf64_mul(a, vf64_set1(-0.5)), a);
  const vf64 v = vf64_mul(rm_exp_eval(q), w);
  const vf64 l = rm_log1p_of(vf64_select(negative, vf64_sub(w, vf64_set1(1.0)), vf64_neg(v)));
  return vf64_add(vf64_select(negative, q, zero), l);
}
