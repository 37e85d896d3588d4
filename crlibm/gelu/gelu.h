/* gelu: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "gelu_b64.h"
#include "gelu_dd.h"
#include "../simd/machine.h"

/* gelu is not odd; but gelu x has the sign of x, zeros and infinities too, and the loop gives it to the magnitude. */
#define RM_GELU_ODD 1

#define RM_GELU_DD_MIN -36.5 /* of rm_gelu_dd: |gelu -36.5| > 2^-967 keeps the low parts, and err, above underflow */

/* Lanes whose result is below the normal range of the format and not 0, NaN included: far below 0, |gelu(-4.17)| > 2^-14,
 * |gelu(-13.1)| > 2^-126; and near 0, where it is near x/2, for f64 |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 rm_gelu_special(vf64 x, int format) {
  const double min = format == RM_F64 ? RM_GELU_DD_MIN : format == RM_F16 ? -4.17 : -13.1;
  const int64_t tiny = (INT64_C(1023) + (format == RM_F64 ? -960 : format == RM_F16 ? -12 : -124)) << 52;
  vm64 near = vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(1)), vi64_set1(tiny - 1));
  return vm64_or(near, vm64_not(vf64_le(vf64_set1(min), x)));
}

/* In f32 and the 16-bit formats the kernel of f64 decides all special lanes but NaN: beyond its domain the result is 0 in any
 * of them. */
RM_NOINLINE vm64 rm_gelu_decided_any(vf64 x, int format, vf64 *y) {
  vf64 hi, lo, err;
  rm_gelu_dd(x, &hi, &lo, &err);
  return vf64_decide_any(vf64_copysign(vf64_add(hi, lo), x), RM_GELU_B64_ERR, format, y);
}

/* Special lanes with a known result, put into *y: |gelu x| is below half the smallest subnormal number of the format (2^-25,
 * 2^-134, 2^-150, 2^-1075), so RN gives -0. */
RM_FN vm64 rm_gelu_decided(vf64 x, int format, vf64 *y) {
  if (format != RM_F64) return rm_gelu_decided_any(x, format, y);
  const double min = format == RM_F64 ? -38.59 : format == RM_F32 ? -14.36 : format == RM_BF16 ? -13.57 : -5.73;
  vm64 zero = vf64_lt(x, vf64_set1(min));
  *y = vf64_select(zero, vf64_set1(-0.0), *y);
  return zero;
}

RM_FAST_PHASE(gelu, GELU, 1)
