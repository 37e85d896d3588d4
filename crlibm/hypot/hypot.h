/* hypot: the fast kernels and their domain. */
#pragma once

#include "hypot_b64.h"
#include "hypot_dd.h"
#include "../simd/machine.h"

RM_FN vm64 rm_hypot_special(vf64 x, vf64 y) { /* of f64, and also NaN and infinities */
  const int64_t min = (INT64_C(1023) - 860) << 52, end = (INT64_C(1023) + 1020) << 52;
  vi64 s = vf64_bits(vf64_add(vf64_mul(x, x), vf64_mul(y, y)));
  return vm64_not(vi64_ltu(vi64_sub(s, vi64_set1(min)), vi64_set1(end - min)));
}

/* An infinity, whatever the other argument is, else NaN of a NaN; f64 zeros. */
#define RM_NUMBER_OF_NAN_hypot , 1
RM_FN vm64 rm_hypot_decided(vf64 x, vf64 y, int format, vf64 *result) {
  (void)format;
  const vf64 larger = vf64_max(vf64_abs(x), vf64_abs(y));
  const vm64 none = vf64_unord(x, y), infinite = vm64_or(vf64_is_infinite(x), vf64_is_infinite(y));
  *result = vf64_select(none, vf64_nan(), larger);
  *result = vf64_select(infinite, vf64_from_bits(vi64_set1(INT64_C(2047) << 52)), *result);
  return vm64_or(vm64_or(none, infinite), vf64_eq(larger, vf64_set1(0.0)));
}

/* Below the normal range the midpoints of the format lie as between `min`, the smallest normal number, and twice that. The
 * sum rounds by 2^-53 of itself. */
RM_FN vf64 rm_hypot_lifted(vf64 v, double min) {
  return vf64_select(vf64_lt(v, vf64_set1(min)), vf64_add(v, vf64_set1(min)), v);
}

RM_FN vm64 rm_hypot_fast_f16(const vf64 *x, vf64 *y) {
  *y = rm_hypot_eval(x[0], x[1]);
  return vm64_or(vf64_not_finite(*y, RM_F16), vf64_undecided_f16(rm_hypot_lifted(*y, 0x1p-14)));
}
RM_FN vm64 rm_hypot_fast_bf16(const vf64 *x, vf64 *y) {
  *y = rm_hypot_eval(x[0], x[1]);
  return vm64_or(vf64_not_finite(*y, RM_BF16), vf64_undecided_bf16(rm_hypot_lifted(*y, 0x1p-126)));
}
RM_FN vm64 rm_hypot_fast_f32(const vf64 *x, vf64 *y) {
  *y = rm_hypot_eval(x[0], x[1]);
  return vm64_or(vf64_not_finite(*y, RM_F32), vf64_undecided_f32(rm_hypot_lifted(*y, 0x1p-126), RM_HYPOT_B64_ERR));
}
RM_FN vm64 rm_hypot_fast_f64(const vf64 *x, vf64 *y) {
  vf64 hi, lo, err;
  rm_hypot_dd(x[0], x[1], &hi, &lo, &err);
  return vm64_or(rm_hypot_special(x[0], x[1]), vf64_undecided_f64(hi, lo, err, y));
}
