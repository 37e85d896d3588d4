/* softplus: the fast kernels and their domain. */
#pragma once

#include "../exp/exp.h"
#include "../simd/fast_phase.h"
#include "softplus_b64.h"
#include "softplus_dd.h"
#include "../simd/machine.h"

#define RM_SOFTPLUS_ODD 0

/* NaN, and lanes in which log(1 + e^x) > e^x (1 - e^x/2) is not surely normal in the format (as in exp.h), or e^x <
 * 2^-953. */
RM_FN vm64 rm_softplus_special(vf64 x, int format) {
  return vm64_not(vf64_le(vf64_set1(format == RM_F64 ? -660.0 : format == RM_F16 ? -9.7 : -87.3), x));
}

/* log(1 + e^x) < e^x: 0 where RN(e^x) = 0. In f32 and the 16-bit formats the evaluation decides all lanes but NaN: t in
 * softplus_b64.h is known within 2^-43 up to d = 700 (exp.h), beyond which results are 0 or x. */
RM_FN vm64 rm_softplus_decided(vf64 x, int format, vf64 *y) {
  if (format == RM_F64) return rm_exp_decided(x, format, y);
  const vf64 v = rm_softplus_tail(vf64_min(vf64_set1(700.0), vf64_abs(x)));
  return vf64_decide_any(vf64_add(vf64_max(vf64_set1(0.0), x), v), 2.0 * RM_SOFTPLUS_B64_ERR, format, y);
}

RM_FAST_PHASE(softplus, SOFTPLUS, 1)
