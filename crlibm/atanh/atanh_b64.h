/* atanh for f32 and the 16-bit formats, evaluated in binary64: log(1 + u)/2, u = 2a/(1 - a), a = |x|.
 *
 * 1 - a rounds by 2^-53 at most; the quotient is within 2^-49: u within 2^-48.8 relatively, log(1 + u) likewise
 * (rm_log1p_of), beside the 2^-41.8 derived in log_b64.h. */
#pragma once

#include "../log/log_b64.h"

#define RM_ATANH_B64_ERR RM_LOG_B64_ERR

/* Of |x|: atanh is odd, the loop gives the sign back. */
RM_FN vf64 rm_atanh_eval(vf64 x) {
  vf64 a = vf64_abs(x), reciprocal;
  vf64 u = vf64_quotient(vf64_add(a, a), vf64_sub(vf64_set1(1.0), a), &reciprocal);
  return vf64_mul(vf64_set1(0.5), rm_log1p_of(u));
}
