/* log10p1: the fast kernels and their domain. */
#pragma once

#include "../log1p/log1p.h"
#include "log10p1_b64.h"
#include "log10p1_dd.h"

#define RM_LOG10P1_ODD 1 /* the kernels evaluate at x itself; the result has the sign of x, also when it is zero */

RM_FN vm64 rm_log10p1_special(vf64 x, int format) { return rm_log1p_special(x, format); }

/* Numbers below -1 are invalid. */
RM_FN vm64 rm_log10p1_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vf64_lt(x, vf64_set1(-1.0)), y);
}

RM_FAST_PHASE_B64_ANY(log10p1, LOG10P1, 1)
RM_FAST_PHASE_DD(log10p1, 1, 1)
