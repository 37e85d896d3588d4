/* log10 for f32 and the 16-bit formats, evaluated in binary64: log x times 1/ln10.
 *
 * log_b64.h derives 2^-41.8 for log x; the constant and the product add 2^-53 each: below 2^-41.7 < RM_LOG10_B64_ERR. A power
 * of ten has an integer as result, which is decided and stored as in log2_b64.h. */
#pragma once

#include "../log/log_b64.h"

#define RM_LOG10_B64_ERR RM_LOG_B64_ERR

RM_FN vf64 rm_log10_eval(vf64 x) { return vf64_mul(rm_log_eval(x), vf64_set1(RM_LOG_INV_LN10)); }
