/* acosh for f32 and the 16-bit formats, evaluated in binary64: log(1 + u), u = (x - 1) + sqrt(x^2 - 1).
 *
 * x^2 is exact (x has at most 24 bits), x^2 - 1 and x - 1 round, the root is within 2^-51.9, the sum of two positive terms
 * rounds: u is within 2^-50.9 relatively, log(1 + u) likewise (rm_log1p_of), beside the 2^-41.8 derived in log_b64.h. u = 0
 * for x = 1. */
#pragma once

#include "../log/log_b64.h"

#define RM_ACOSH_B64_ERR RM_LOG_B64_ERR

RM_FN vf64 rm_acosh_eval(vf64 x) {
  const vf64 one = vf64_set1(1.0);
  vf64 reciprocal, s = vf64_root(vf64_sub(vf64_mul(x, x), one), &reciprocal);
  return rm_log1p_of(vf64_add(s, vf64_sub(x, one)));
}
