/* atanh: the fast kernels and their domain. */
#pragma once

#include "atanh_b64.h"
#include "atanh_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_ATANH_ODD 1

/* f64: lanes outside 2^-27 <= |x| < 1. The other formats: |x| >= 1 and NaN; a subnormal result is that of a subnormal x, and
 * atanh |x| = |x| (1 + x^2/3 + ...) is so close above the number |x| that storing any value within the error bound gives x.
 * */
RM_FN vm64 rm_atanh_special(vf64 x, int format) {
  const int64_t min = format == RM_F64 ? INT64_C(996) << 52 : 0, limit = INT64_C(1023) << 52;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(min)), vi64_set1(limit - min)));
}

/* Small lanes: atanh x - x < x^3/3 (1 + 2^-50) < 2^-55.5 x, less than half a unit, for |x| <= 2^-27. Those beyond 1
 * are invalid. */
RM_FN vm64 rm_atanh_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 small = vf64_lt(vf64_abs(x), vf64_set1(0x1p-27));
  *y = vf64_select(small, x, *y);
  return vm64_or(small, vf64_decide_invalid(vf64_lt(vf64_set1(1.0), vf64_abs(x)), y));
}

RM_FAST_PHASE(atanh, ATANH, 1)
