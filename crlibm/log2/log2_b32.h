/* log2 in binary32 (simd/b32.h): log x in two parts times 1/ln2 in two parts (log_b32.h). */
#pragma once

#include "../log/log_b32.h"

#define RM_B32_log2 RM_B32

#if RM_B32

RM_FN vm32 rm_log2_b32(vf32 x, vf32 *y) { return rm_log_b32_times(x, RM_LOG_B32_INV_LN2, RM_LOG_B32_INV_LN2_LO, y); }

#endif
