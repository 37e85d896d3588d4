/* erfcx: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "erfcx_b64.h"
#include "erfcx_dd.h"
#include "erfcx_far.h"

#define RM_ERFCX_ODD 0

/* Lanes beyond the table, or whose result overflows or nearly so, NaN included: erfcx -3.2 < 2^15.9, erfcx -9.3 < 2^126. */
RM_FN vm64 rm_erfcx_special(vf64 x, int format) {
  const double min = format == RM_F64 ? RM_ERFCX_DD_MIN : format == RM_F16 ? -3.2 : -9.3;
  const double max = format == RM_F64 ? RM_ERFCX_DD_MAX : 9.37;
  return vm64_not(vm64_and(vf64_le(vf64_set1(min), x), vf64_le(x, vf64_set1(max))));
}

/* In f32 and the 16-bit formats the evaluation, or from 9.3 on the asymptotic series, decides them, NaN apart: beyond -9.6
 * the result is infinite, beyond 2^300 zero in any of these formats. */
RM_NOINLINE vm64 rm_erfcx_decided_any(vf64 x, int format, vf64 *y) {
  const vf64 low = vf64_set1(9.3), a = vf64_min(vf64_set1(0x1p300), vf64_max(low, x));
  const vf64 v = vf64_select(vf64_lt(low, x), rm_erfcx_far_eval(a, 0), rm_erfcx_eval(x));
  return vf64_decide_any(v, RM_ERFCX_B64_ERR, format, y);
}
RM_FN vm64 rm_erfcx_decided(vf64 x, int format, vf64 *y) {
  vf64 v = *y;
  const vm64 known = format == RM_F64 ? vf64_lt(x, x) : rm_erfcx_decided_any(x, format, &v);
  *y = vf64_select(known, v, *y);
  return known;
}

RM_FAST_PHASE(erfcx, ERFCX, 1)
