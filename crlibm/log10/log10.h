/* log10: the fast kernels and their domain. */
#pragma once

#include "../log/log.h"
#include "log10_b64.h"
#include "log10_dd.h"
#include "../simd/machine.h"

#define RM_LOG10_ODD 0

/* The domain of log. The results are zero or normal: |log10 x| >= 2^-13, 2^-10, 2^-26, 2^-55 in the four formats. */
RM_FN vm64 rm_log10_special(vf64 x, int format) { return rm_log_special(x, format); }

RM_FN vm64 rm_log10_decided(vf64 x, int format, vf64 *y) { return rm_log_decided(x, format, y); }

RM_FAST_PHASE(log10, LOG10, 1)
