/* atan2: the fast kernels and their domain. */
#pragma once

#include "atan2_b64.h"
#include "atan2_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

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

/* Lanes with a known result, put into *r: y = +-0 with a number, and an infinity with a number. The angle of (|x|, |y|) is
 * then 0, pi/4 or pi/2, and the result is that, or pi less that, with the sign of y. None of the rounded angles is a tie of a
 * smaller format, so that it rounds as the angle does (tests/elementwise/test_several.py has all of them). */
RM_FN vm64 rm_atan2_decided(vf64 y, vf64 x, int format, vf64 *r) {
  (void)format;
  const vf64 zero = vf64_set1(0.0);
  const vm64 up = vf64_is_infinite(y), along = vf64_is_infinite(x), left = vf64_lt(vf64_copysign(vf64_set1(1.0), x), zero);
  vm64 known = vm64_or(vm64_or(up, along), vf64_eq(y, zero));
  known = vm64_andnot(known, vf64_unord(x, y));
  const vf64 eighth = vf64_select(left, vf64_set1(0x1.2d97c7f3321d2p+1), vf64_set1(0x1.921fb54442d18p-1));
  const vf64 axis = vf64_select(left, vf64_set1(0x1.921fb54442d18p+1), zero);
  const vf64 angle = vf64_select(up, vf64_select(along, eighth, vf64_set1(0x1.921fb54442d18p+0)), axis);
  *r = vf64_select(known, vf64_copysign(angle, y), *r);
  return known;
}

RM_FAST_PHASE_ANY(atan2, ATAN2, 2, 1)
