/* logaddexp: log(e^x + e^y) = big + log(1 + e^-d), big = max(x, y), d = |x - y|, by the kernels of softplus. The sum cancels
 * for -ln2 <= big < 0, so the error is an absolute one, and the tests take it so. */
#pragma once

#include "../simd/fast_phase.h"
#include "../softplus/softplus_b64.h"
#include "../softplus/softplus_dd.h"

/* Binary64, for f32 and the 16-bit formats: d is rounded, 88 2^-53, which with softplus_b64.h makes 2^-41.5 of the tail; the
 * sum and those of the test round by 1.5 2^-52 |y|. d is cut at 88: beyond, the tail is below 2^-126, and RN gives big unless
 * that is below 2^-60 in magnitude (a lane left undecided). */
#define RM_LOGADDEXP_ERR RM_BOUND(0x1.8p-42)

RM_FN vm64 rm_logaddexp_b32(const vf64 *x, int format, vf64 *y) {
  const vf64 end = vf64_set1(88.0);
  vf64 big = vf64_max(x[0], x[1]), d = vf64_sub(big, vf64_min(x[0], x[1]));
  vf64 tail = rm_softplus_tail(vf64_min(d, end));
  *y = vf64_add(big, tail);
  vf64 err = vf64_mad(tail, vf64_set1(RM_LOGADDEXP_ERR), vf64_mul(vf64_abs(*y), vf64_set1(RM_BOUND(0x1p-51))));
  vm64 far = vm64_and(vf64_lt(end, d), vf64_lt(vf64_abs(big), vf64_set1(0x1p-60)));
  return vm64_or(vm64_or(far, vf64_unord(x[0], x[1])), vf64_undecided_within(*y, err, format));
}
RM_FN vm64 rm_logaddexp_fast_f16(const vf64 *x, vf64 *y) { return rm_logaddexp_b32(x, RM_F16, y); }
RM_FN vm64 rm_logaddexp_fast_bf16(const vf64 *x, vf64 *y) { return rm_logaddexp_b32(x, RM_BF16, y); }
RM_FN vm64 rm_logaddexp_fast_f32(const vf64 *x, vf64 *y) { return rm_logaddexp_b32(x, RM_F32, y); }

/* d + dl = |x - y| by TwoSum. d is cut at 660: beyond, the tail is below 2^-952, and RN gives big unless that is below 2^-800
 * in magnitude (a lane left undecided). Results that may be subnormal are left undecided too. */
RM_FN vm64 rm_logaddexp_fast_f64(const vf64 *x, vf64 *y) {
  const vf64 end = vf64_set1(660.0);
  vf64 big = vf64_max(x[0], x[1]), small = vf64_min(x[0], x[1]), hi, lo, err;
  vf64 d = vf64_sub(big, small), b = vf64_sub(big, d);
  vf64 dl = vf64_add(vf64_sub(big, vf64_add(d, b)), vf64_sub(b, small));
  vm64 far = vf64_lt(end, d), none = vf64_unord(x[0], x[1]);
  rm_softplus_sum_dd(big, vf64_min(d, end), vf64_select(far, vf64_set1(0.0), dl), &hi, &lo, &err);
  far = vm64_and(far, vf64_lt(vf64_abs(big), vf64_set1(0x1p-800)));
  vm64 low = vf64_lt(vf64_abs(hi), vf64_set1(0x1p-1000));
  return vm64_or(vm64_or(far, low), vm64_or(none, vf64_undecided_f64(hi, lo, err, y)));
}

/* The greater of x and y is infinite: it is the result, -inf also from two of them. */
RM_FN vm64 rm_logaddexp_decided(vf64 x, vf64 y, int format, vf64 *r) {
  (void)format;
  const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  vf64 big = vf64_max(x, y);
  vm64 found = vm64_andnot(vf64_eq(vf64_abs(big), infinity), vf64_unord(x, y));
  *r = vf64_select(found, big, *r);
  return found;
}
