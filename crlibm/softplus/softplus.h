/* softplus: the fast kernels and their domain. */
#pragma once

#include "../exp/exp.h"
#include "../simd/fast_phase.h"
#include "softplus_b64.h"
#include "softplus_dd.h"

#define RM_SOFTPLUS_ODD 0

/* NaN, and lanes in which log(1 + e^x) > e^x (1 - e^x/2) is not surely normal in the format (as in exp.h), or e^x < 2^-953. */
RM_FN vm64 rm_softplus_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_set1(format == RM_F64 ? -660.0 : format == RM_F16 ? -9.7 : -87.3), x));
}

/* log(1 + e^x) < e^x: 0 where RN(e^x) = 0. */
RM_FN vm64 rm_softplus_decided(vf64 x, int format, vf64 *y) { return rm_exp_decided(x, format, y); }

RM_FAST_PHASE(softplus, SOFTPLUS, 1)
