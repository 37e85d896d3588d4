/* cospi: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "cospi_b64.h"
#include "cospi_dd.h"

#define RM_COSPI_ODD 0

/* Beyond the reduction, NaN included. */
RM_FN vm64 rm_cospi_special(vf64 x, int format) {
  (void)format;
  return rm_sinpi_beyond(x);
}

RM_FN vm64 rm_cospi_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return rm_sinpi_decide_even(x, vf64_set1(1.0), y);
}

RM_FAST_PHASE_B64_ANY(cospi, COSPI, 1)
RM_FAST_PHASE_DD_ANY(cospi, 1)
