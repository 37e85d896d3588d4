/* asinh for f32 and the 16-bit formats, evaluated in binary64.
 *
 * a = |x| < 2^-5: a + a z P(z), z = a^2; P 2^-37.04 z <= 2^-47 relatively, roundings of parts below 2^-12 and the sum: below
 * 2^-46. Else log(a + sqrt(a^2 + 1)). a^2 is exact (a has at most 24 bits); a^2 + 1 and a + sqrt round, the root is within
 * 2^-51.9, together below 2^-51.1; r of the logarithm rounds by 2^-53 without FMA, since its argument has 53 bits. The
 * logarithm is at least 2^-5.01: 2^-45.7 relatively, beside the 2^-41.8 derived in log_b64.h. */
#pragma once

#include "../log/log_b64.h"
#include "asinh_tables.h"

#define RM_ASINH_B64_ERR RM_LOG_B64_ERR

/* Of |x|: asinh is odd, the loop gives the sign back. */
RM_FN vf64 rm_asinh_eval(vf64 x) {
  vf64 a = vf64_abs(x), z = vf64_mul(a, a), reciprocal;
  vf64 l = rm_log_eval(vf64_add(a, vf64_root(vf64_add(z, vf64_set1(1.0)), &reciprocal)));
  vf64 p = vf64_mad(z, vf64_set1(rm_asinh_p32[2]), vf64_set1(rm_asinh_p32[1]));
  p = vf64_mad(z, p, vf64_set1(rm_asinh_p32[0]));
  return vf64_select(vf64_lt(a, vf64_set1(0x1p-5)), vf64_mad(vf64_mul(a, z), p, a), l);
}
