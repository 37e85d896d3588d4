/* log2: the fast kernels and their domain. */
#pragma once

#include "../log/log.h"
#include "log2_b64.h"
#include "log2_dd.h"
#include "../simd/machine.h"

#define RM_LOG2_ODD 0

/* The domain of log. The results are zero or normal: |log10 x| >= 2^-13, 2^-10, 2^-26, 2^-55 in the four formats; |log2 x| is
 * larger. */
RM_FN vm64 rm_log2_special(vf64 x, int format) { return rm_log_special(x, format); }

RM_FN vm64 rm_log2_decided(vf64 x, int format, vf64 *y) { return rm_log_decided(x, format, y); }

RM_FAST_PHASE(log2, LOG2, 1)
