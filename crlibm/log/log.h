/* log: the fast kernels and their domain. */
#pragma once

#include "log_b64.h"
#include "log_dd.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"

#define RM_LOG_ODD 0

/* Lanes that are not positive, finite and normal as binary64 numbers (every positive number of the other formats is). The
 * results are zero or normal: |log x| >= 2^-11, 2^-8, 2^-24, 2^-53 in the four formats. */
RM_FN vm64 rm_log_special(vf64 x, int format) {
  (void)format;
  const int64_t min = INT64_C(1) << 52, infinity = INT64_C(0x7ff) << 52;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(x), vi64_set1(min)), vi64_set1(infinity - min)));
}

/* Negative numbers are invalid. */
RM_FN vm64 rm_log_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_invalid(vf64_lt(x, vf64_set1(0.0)), y);
}

RM_FAST_PHASE(log, LOG, 1)
