/* betaln(x, y) = log B(x, y), B the integral of t^(x-1) (1-t)^(y-1) from 0 to 1: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "betaln_b64.h"
#include "betaln_vdd.h"

/* Of f64, the one format that asks: lanes with an argument that is not positive, tiny or huge. */
RM_FN vm64 rm_betaln_special(vf64 x, vf64 y, int format) {
  (void)format;
  const vm64 above = vm64_and(vf64_le(vf64_set1(RM_BETALN_LEAST), x), vf64_le(vf64_set1(RM_BETALN_LEAST), y));
  return vm64_not(vm64_and(above, vf64_le(vf64_max(x, y), vf64_set1(RM_BETALN_MOST))));
}
RM_NONE_DECIDED(betaln, 2)
RM_NOINLINE void rm_betaln_dd(vf64 x, vf64 y, vf64 *hi, vf64 *lo, vf64 *err) {
  const vm64 special = rm_betaln_special(x, y, RM_F64);
  x = vf64_select(special, vf64_set1(3.0), x);
  y = vf64_select(special, vf64_set1(3.0), y);
  rm_vdd_known(rm_betaln_vdd(vf64_min(x, y), vf64_max(x, y)), hi, lo, err);
}
RM_FAST_PHASE_WITHIN(betaln, 2)
