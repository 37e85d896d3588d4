/* betaln(x, y) = log B(x, y), B the integral of t^(x-1) (1-t)^(y-1) from 0 to 1: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "betaln_b64.h"

/* f64 has no kernel: all lanes are undecided. */
RM_FN vm64 rm_betaln_special(vf64 x, vf64 y, int format) {
  (void)y, (void)format;
  return vm64_not(vf64_lt(x, x));
}
RM_NONE_DECIDED(betaln, 2)
RM_NO_DD(betaln, 2)
RM_FAST_PHASE_WITHIN(betaln, 2)
