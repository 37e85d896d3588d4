/* rsqrt, 1/sqrt(x): the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "rsqrt_b64.h"
#include "rsqrt_dd.h"
#include "../simd/machine.h"

#define RM_RSQRT_ODD 0

/* Lanes without a positive normal binary64 x (every positive number of the smaller formats is one), and for f64 those from
 * 2^996 on, where Veltkamp's splitting would overflow. */
RM_FN vm64 rm_rsqrt_special(vf64 x, int format) {
  const int64_t min = INT64_C(1) << 52, end = format == RM_F64 ? (INT64_C(1023) + 996) << 52 : INT64_C(2047) << 52;
  return vm64_not(vi64_ltu(vi64_sub(vf64_bits(x), vi64_set1(min)), vi64_set1(end - min)));
}

/* Infinity; negative numbers are invalid. */
RM_FN vm64 rm_rsqrt_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  const vm64 infinite = vf64_decide_zero(vi64_eq(vf64_bits(x), vi64_set1(INT64_C(2047) << 52)), y);
  return vm64_or(infinite, vf64_decide_invalid(vf64_lt(x, vf64_set1(0.0)), y));
}

RM_FAST_PHASE(rsqrt, RSQRT, 1)
