/* ndtri: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "ndtri_b64.h"
#include "ndtri_dd.h"
#include "../simd/machine.h"

#define RM_NDTRI_ODD 0

/* Lanes that are not inside (0, 1), NaN included; for f64 those below the kernel's domain. The other formats have no
 * number in (0, 2^-149), and no result that is subnormal: |2 p - 1| is 0 or at least 2^-11 (f16), 2^-24. */
RM_FN vm64 rm_ndtri_special(vf64 p, int format) {
  const double min = format == RM_F64 ? RM_NDTRI_DD_MIN : 0x1p-149;
  return vm64_not(vm64_and(vf64_le(vf64_set1(min), p), vf64_lt(p, vf64_set1(1.0))));
}

/* Numbers outside [0, 1] are invalid. */
RM_FN vm64 rm_ndtri_decided(vf64 p, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vm64_or(vf64_lt(p, vf64_set1(0.0)), vf64_lt(vf64_set1(1.0), p)), y);
}

RM_FAST_PHASE(ndtri, NDTRI, 1)
