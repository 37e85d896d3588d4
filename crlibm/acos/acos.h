/* acos: the fast kernels and their domain. */
#pragma once

#include "acos_b64.h"
#include "acos_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_ACOS_ODD 0

/* |x| > 1 and NaN. Every other result is 0 (for x = 1, exactly) or normal: acos x >= sqrt(2 (1 - x)) >= 2^-26. */
RM_FN vm64 rm_acos_special(vf64 x, int format) {
  (void)format;
  return vm64_not(vf64_le(vf64_abs(x), vf64_set1(1.0)));
}

/* Numbers outside [-1, 1] are invalid. */
RM_FN vm64 rm_acos_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vf64_lt(vf64_set1(1.0), vf64_abs(x)), y);
}

RM_FAST_PHASE(acos, ACOS, 1)
