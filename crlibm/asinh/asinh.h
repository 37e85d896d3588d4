/* asinh: the fast kernels and their domain. */
#pragma once

#include "asinh_b64.h"
#include "asinh_dd.h"
#include "../simd/fast_phase.h"

#define RM_ASINH_ODD 1

/* f64: lanes outside 2^-26 <= |x| < 2^1021. The other formats: infinities and NaN; a subnormal result is that of a subnormal
 * x, and asinh |x| = |x| (1 - x^2/6 + ...) is so close below the number |x| that storing any value within the error bound
 * gives x. */
RM_FN vm64 rm_asinh_special(vf64 x, int format) {
  const int64_t min = format == RM_F64 ? INT64_C(997) << 52 : 0, limit = INT64_C(2044) << 52;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(min)), vi64_set1(limit - min)));
}

/* Small lanes: x - asinh x < x^3/6 <= 2^-54.5 x, a quarter of a unit at the most, for |x| <= 2^-26. */
RM_FN vm64 rm_asinh_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  vm64 small = vf64_lt(vf64_abs(x), vf64_set1(0x1p-26));
  *y = vf64_select(small, x, *y);
  return small;
}

RM_FAST_PHASE(asinh, ASINH, 1)
