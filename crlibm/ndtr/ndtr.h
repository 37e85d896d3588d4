/* ndtr: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "ndtr_b64.h"
#include "ndtr_dd.h"
#include "../simd/machine.h"

#define RM_NDTR_ODD 0

#define RM_NDTR_DD_MIN -36.4 /* of rm_ndtr_dd: Phi(-36.4) > 2^-963 keeps the low parts, and err, above underflow */

/* Lanes whose result is below the normal range of the format, NaN included: Phi(-3.84) > 2^-14, Phi(-12.94) > 2^-126; and
 * for f64 0 < |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 rm_ndtr_special(vf64 x, int format) {
  const double min = format == RM_F64 ? RM_NDTR_DD_MIN : format == RM_F16 ? -3.84 : -12.94;
  vm64 below = vm64_not(vf64_le(vf64_set1(min), x));
  return format == RM_F64 ? vm64_or(below, vf64_special_odd(x, RM_F64)) : below;
}

/* In f32 and the 16-bit formats the kernel of f64 decides all special lanes but NaN: beyond its domain the result is 0 in any
 * of them. */
RM_NOINLINE vm64 rm_ndtr_decided_any(vf64 x, int format, vf64 *y) {
  vf64 hi, lo, err;
  rm_ndtr_dd(x, &hi, &lo, &err);
  return vf64_decide_any(vf64_add(hi, lo), RM_NDTR_B64_ERR, format, y);
}

/* Special lanes with a known result, put into *y: in f64 those where Phi(x) is below 2^-1075, half the smallest subnormal
 * number, so that RN gives +0. */
RM_FN vm64 rm_ndtr_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) return rm_ndtr_decided_any(x, format, y);
  return vf64_decide_zero(vf64_lt(x, vf64_set1(-38.49)), y);
}

RM_FAST_PHASE(ndtr, NDTR, 1)
