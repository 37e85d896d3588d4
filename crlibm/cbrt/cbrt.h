/* cbrt: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "cbrt_b64.h"
#include "cbrt_dd.h"

#define RM_CBRT_ODD 1

/* NaN and the infinities; for f64 also zeros and subnormal numbers. */
RM_FN vm64 rm_cbrt_special(vf64 x, int format) {
  const int64_t min = format == RM_F64 ? INT64_C(1) << 52 : 0;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(min)), vi64_set1((INT64_C(2047) << 52) - min)));
}

/* Zeros and infinities are their own cube roots. */
RM_FN vm64 rm_cbrt_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  vf64 a = vf64_abs(x);
  vm64 same = vm64_or(vf64_eq(a, vf64_set1(0.0)), vi64_eq(vf64_bits(a), vi64_set1(INT64_C(2047) << 52)));
  *y = vf64_select(same, x, *y);
  return same;
}

RM_FAST_PHASE(cbrt, CBRT, 1)
