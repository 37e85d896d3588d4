/* log1p for f32 and the 16-bit formats, evaluated in binary64: rm_log1p_of (log_b64.h) of the exact x. log_b64.h derives
 * 2^-41.8 for log, and 2^-46 more for 1 + x rounded. */
#pragma once

#include "../log/log_b64.h"

#define RM_LOG1P_B64_ERR RM_LOG_B64_ERR

RM_FN vf64 rm_log1p_eval(vf64 x) { return rm_log1p_of(x); }
