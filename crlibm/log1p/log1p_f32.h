/* log1p for f32 and the 16-bit formats, evaluated in binary64: rm_log1p_of (log_f32.h) of the exact x. log_f32.h derives
 * 2^-41.8 for log, and 2^-46 more for 1 + x rounded. */
#ifndef RM_LOG1P_F32_H
#define RM_LOG1P_F32_H

#include "../log/log_f32.h"

#define RM_LOG1P_F32_ERR RM_LOG_F32_ERR

RM_FN vf64 rm_log1p_eval(vf64 x) { return rm_log1p_of(x); }

#endif
