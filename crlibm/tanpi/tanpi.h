/* tanpi: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "tanpi_b64.h"
#include "tanpi_dd.h"

#define RM_TANPI_ODD 0 /* the kernels give the sign */

/* Beyond the reduction, NaN included, and poles: halves of odd numbers; in f64 also 0 < |x| < 2^-960, where exact products
 * would underflow. */
RM_FN vm64 rm_tanpi_special(vf64 x, int format) {
  vi64 k;
  const vf64 r = rm_sinpi_rest(vf64_abs(x), 0x1.8p52, &k);
  const vm64 pole = vf64_eq(vf64_abs(r), vf64_set1(0.5)), beyond = vm64_or(rm_sinpi_beyond(x), pole);
  return format == RM_F64 ? vm64_or(beyond, vf64_special_odd(x, format)) : beyond;
}

RM_FN vm64 rm_tanpi_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return rm_sinpi_decide_even(x, vf64_copysign(vf64_set1(0.0), x), y);
}

RM_FAST_PHASE_B64_ANY(tanpi, TANPI, 1)
RM_FAST_PHASE_DD_ANY(tanpi, 1)
