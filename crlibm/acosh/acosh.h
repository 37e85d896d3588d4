/* acosh: the fast kernels and their domain. */
#pragma once

#include "acosh_b64.h"
#include "acosh_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_ACOSH_ODD 0

/* Lanes outside 1 <= x < 2^1021, NaN included. The results are zero or normal: acosh x >= 2^-4.6, 2^-3.1, 2^-11.1, 2^-25.6
 * for x > 1. */
RM_FN vm64 rm_acosh_special(vf64 x, int format) {
  (void)format;
  const int64_t min = INT64_C(1023) << 52, limit = INT64_C(2044) << 52;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(x), vi64_set1(min)), vi64_set1(limit - min)));
}

/* Numbers below 1 are invalid. */
RM_FN vm64 rm_acosh_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vf64_lt(x, vf64_set1(1.0)), y);
}

RM_FAST_PHASE(acosh, ACOSH, 1)
