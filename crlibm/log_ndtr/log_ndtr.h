/* log_ndtr: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "log_ndtr_b64.h"
#include "log_ndtr_dd.h"

#define RM_LOG_NDTR_ODD 0

/* Lanes beyond erfc's table, or whose result is below the normal range of the format, NaN included: Phi(-3.84) > 2^-14,
 * Phi(-12.94) > 2^-126. */
RM_FN vm64 rm_log_ndtr_special(vf64 x, int format) {
  const double min = format == RM_F64 ? RM_LOG_NDTR_DD_MIN : -13.2;
  const double max = format == RM_F64 ? RM_LOG_NDTR_DD_MAX : format == RM_F16 ? 3.84 : 12.94;
  return vm64_not(vm64_and(vf64_le(vf64_set1(min), x), vf64_le(x, vf64_set1(max))));
}

/* In f32 and the 16-bit formats most are decided: below -13.1 by the asymptotic series, whose logarithm, within 2^-40, is
 * added to a larger -x^2/2 (at -2^66 the result is infinite in any of these formats); above 3 by log(1 - v), v being Phi(-x)
 * of the kernel of f64, or at 36.3, where it rounds to zero in any of them. Of numbers between, which the evaluation has left
 * undecided, and of NaN nothing is known. */
RM_NOINLINE vm64 rm_log_ndtr_decided_any(vf64 x, int format, vf64 *y) {
  const vf64 low = vf64_set1(-13.1), high = vf64_set1(3.0);
  const vf64 a = vf64_min(vf64_set1(0x1p66), vf64_neg(vf64_min(low, x)));
  const vm64 below = vf64_lt(x, low), above = vf64_lt(high, x);
  vf64 hi, lo, err;
  rm_ndtr_dd(vf64_neg(vf64_min(vf64_set1(RM_LOG_NDTR_DD_MAX), vf64_max(high, x))), &hi, &lo, &err);
  const vf64 q = vf64_mul(vf64_mul(a, vf64_set1(-0.5)), a), l = rm_log_eval(rm_erfcx_far_eval(a, 1));
  const vf64 v = vf64_select(below, vf64_add(q, l), rm_log1p_of(vf64_neg(vf64_add(hi, lo))));
  return vm64_and(vf64_decide_any(v, RM_LOG_NDTR_B64_ERR, format, y), vm64_or(below, above));
}
/* In f64 where Phi(-x) is below 2^-1075, half the smallest subnormal number, RN gives -0. */
RM_FN vm64 rm_log_ndtr_decided(vf64 x, int format, vf64 *y) {
  vf64 v = vf64_set1(-0.0);
  const vm64 known = format == RM_F64 ? vf64_lt(vf64_set1(38.49), x) : rm_log_ndtr_decided_any(x, format, &v);
  *y = vf64_select(known, v, *y);
  return known;
}

RM_FAST_PHASE(log_ndtr, LOG_NDTR, 1)
