/* erfc: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "erfc_b64.h"
#include "erfc_dd.h"
#include "../simd/machine.h"

#define RM_ERFC_ODD 0

/* Of rm_erfc_dd: erfc 25.8 > 2^-967 keeps the low parts, and err, above underflow. */
#define RM_ERFC_DD_MAX 25.8

/* Lanes whose result is below the normal range of the format, NaN included: erfc 2.83 > 2^-14, erfc 9.19 > 2^-126. */
RM_FN vm64 rm_erfc_special(vf64 x, int format) {
  return vm64_not(vf64_le(x, vf64_set1(format == RM_F64 ? RM_ERFC_DD_MAX : format == RM_F16 ? 2.83 : 9.19)));
}

/* In f32 and the 16-bit formats the kernel of f64 decides all special lanes but NaN: beyond its domain the result is 0 in any
 * of them. */
RM_NOINLINE vm64 rm_erfc_decided_any(vf64 x, int format, vf64 *y) {
  vf64 hi, lo, err;
  rm_erfc_dd(x, &hi, &lo, &err);
  return vf64_decide_any(vf64_add(hi, lo), RM_ERFC_B64_ERR, format, y);
}

/* Special lanes with a known result, put into *y: in f64 those where erfc x is below 2^-1075, half the smallest subnormal
 * number, so that RN gives +0. */
RM_FN vm64 rm_erfc_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) return rm_erfc_decided_any(x, format, y);
  return vf64_decide_zero(vf64_lt(vf64_set1(27.23), x), y);
}

RM_FAST_PHASE(erfc, ERFC, 1)
