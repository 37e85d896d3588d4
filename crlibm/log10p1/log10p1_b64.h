/* log10p1 for f32 and the 16-bit formats, evaluated in binary64: log(1 + x) (rm_log1p_of) times 1/ln10.
 *
 * log_b64.h derives 2^-41.8 for log, and 2^-46 more for 1 + x rounded; the constant and the product add 2^-53 each: below
 * 2^-41.6 < RM_LOG10P1_B64_ERR. */
#pragma once

#include "../log/log_b64.h"

#define RM_LOG10P1_B64_ERR RM_LOG_B64_ERR

RM_FN vf64 rm_log10p1_eval(vf64 x) { return vf64_mul(rm_log1p_of(x), vf64_set1(RM_LOG_INV_LN10)); }
