/* atan2: the fast kernels and their domain. */
#pragma once

#include "atan2_b64.h"
#include "atan2_dd.h"
#include "../simd/fast_phase.h"

/* f64: NaN, infinities, both zero; |y| or |x| below 2^-480, but not 0, or a sum of 2^480, beyond which exact products could
 * underflow. In the other formats these have results that are NaN, and Ziv's rounding test takes subnormal ones. */
RM_FN vm64 rm_atan2_special(vf64 y, vf64 x, int format) {
  const int64_t min = (INT64_C(1023) - 480) << 52, max = (INT64_C(1023) + 480) << 52;
  const vi64 one = vi64_set1(1);
  (void)format;
  vf64 a = vf64_abs(y), b = vf64_abs(x);
  vm64 inside = vi64_ltu(vi64_sub(vf64_bits(vf64_add(a, b)), vi64_set1(min)), vi64_set1(max - min));
  vm64 small = vm64_or(vi64_ltu(vi64_sub(vf64_bits(a), one), vi64_set1(min - 1)),
                       vi64_ltu(vi64_sub(vf64_bits(b), one), vi64_set1(min - 1)));
  return vm64_or(vm64_not(inside), small);
}

/* Special lanes with a known result, put into *r: y = +-0 and x = +0 give y. */
RM_FN vm64 rm_atan2_decided(vf64 y, vf64 x, int format, vf64 *r) {
  (void)format;
  vm64 zero = vm64_and(vf64_eq(y, vf64_set1(0.0)), vi64_eq(vf64_bits(x), vi64_set1(0)));
  *r = vf64_select(zero, y, *r);
  return zero;
}

RM_FAST_PHASE_ANY(atan2, ATAN2, 2, 1)
