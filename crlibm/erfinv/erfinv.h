/* erfinv: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "erfinv_b64.h"
#include "erfinv_dd.h"
#include "../simd/machine.h"

#define RM_ERFINV_ODD 1

/* Lanes that are not inside (-1, 1), NaN included, and those whose result is below the normal range: erfinv x is near
 * 0.886 x at 0. For f64 those for which exact products would underflow. */
RM_FN vm64 rm_erfinv_special(vf64 x, int format) {
  const int64_t tiny = (INT64_C(1023) + (format == RM_F64 ? -950 : format == RM_F16 ? -13 : -125)) << 52;
  const vf64 size = vf64_abs(x);
  vm64 near = vi64_ltu(vi64_sub(vf64_bits(size), vi64_set1(1)), vi64_set1(tiny - 1));
  return vm64_or(near, vm64_not(vf64_lt(size, vf64_set1(1.0))));
}

/* Numbers outside [-1, 1] are invalid. In f32 and the 16-bit formats the kernel of f64 decides what is subnormal; it serves 0
 * < |x| < 1. */
RM_NOINLINE vm64 rm_erfinv_decided_any(vf64 x, int format, vf64 *y) {
  vf64 hi, lo, err;
  rm_erfinv_dd(x, &hi, &lo, &err);
  return vm64_and(vf64_decide_any(vf64_copysign(vf64_add(hi, lo), x), RM_ERFINV_B64_ERR, format, y),
                  vf64_lt(vf64_abs(x), vf64_set1(1.0)));
}
RM_FN vm64 rm_erfinv_decided(vf64 x, int format, vf64 *y) {
  vf64 v = *y;
  const vm64 outside = vf64_lt(vf64_set1(1.0), vf64_abs(x));
  const vm64 small = format == RM_F64 ? vf64_lt(x, x) : rm_erfinv_decided_any(x, format, &v);
  *y = v;
  return vm64_or(small, vf64_decide_invalid(outside, y));
}

RM_FAST_PHASE(erfinv, ERFINV, 1)
