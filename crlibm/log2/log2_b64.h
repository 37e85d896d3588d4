/* log2 for f32 and the 16-bit formats, evaluated in binary64: log x times 1/ln2.
 *
 * log_b64.h derives 2^-41.8 for log x; the constant and the product add 2^-53 each: below 2^-41.7 < RM_LOG2_B64_ERR. A power
 * of two has an integer k as result. The value is within 2^-41 of k, and no midpoint of a format is, so it is decided and
 * stored as k. */
#pragma once

#include "../log/log_b64.h"

#define RM_LOG2_B64_ERR RM_LOG_B64_ERR

RM_FN vf64 rm_log2_eval(vf64 x) { return vf64_mul(rm_log_eval(x), vf64_set1(RM_LOG_INV_LN2)); }
