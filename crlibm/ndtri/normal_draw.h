/* Normal random numbers of 64-bit draws, vectorised: RN(Phi^-1((k + 1/2) 2^-64)) (spec.md, section 6).
 *
 *   vm64 rm_normal_fast_<format>(vi64 k, vf64 *y)    one vector of draws, in f16, bf16, f32 or f64
 *
 * Lanes of *y that are not in the returned mask store (vf64_store_<format>) as the correctly rounded result. Lanes in the
 * mask are computed by rm_normal_accurate(k, format, RM_NEAREST, &flags) (normal_draw_accurate.h, in a scalar translation
 * unit), which decides every draw. The mask is nearly always empty: about 2^-16 of the lanes are in it for f32, 2^-11 for
 * f64. No flag is raised; a result is never an infinity, a NaN or, but for f16, a zero.
 *
 * As in normal_draw_accurate.h, 1 - |u| = (j + 1/2) 2^-63, j = k or its complement; and u = (i + 1/2) 2^-63, i = k - 2^63 as
 * a signed integer: the sign of the result is that of i + 1/2. RN of an integer, then the half and the factor with one
 * rounding or two: u and v within 2^-52, where the integer is not exact the half is smaller than its rounding. */
#pragma once

#include "../erfinv/erfinv_dd.h"

/* (i + 1/2) 2^-63 times c, c = 1 or RN(sqrt(2)). */
RM_FN vf64 rm_normal_scaled(vi64 i, double c) {
  return vf64_mad(vi64_round_f64(i), vf64_set1(c * 0x1p-63), vf64_set1(c * 0x1p-64));
}
RM_FN vi64 rm_normal_signed(vi64 k) { return vi64_xor(k, vi64_set1(INT64_MIN)); }
RM_FN vi64 rm_normal_tail(vi64 k) { return vi64_xor(k, vi64_sra(k, 63)); }

/* Phi^-1 within RM_ERFINV_B64_ERR. */
RM_FN vf64 rm_normal_eval(vi64 k) {
  return rm_erfinv_of(rm_normal_scaled(rm_normal_signed(k), RM_ERFINV_SQRT2), rm_normal_scaled(rm_normal_tail(k), 1.0));
}

RM_FN vm64 rm_normal_fast_f32(vi64 k, vf64 *y) {
  *y = rm_normal_eval(k);
  return vf64_undecided_f32(*y, RM_ERFINV_B64_ERR);
}
RM_FN vm64 rm_normal_fast_bf16(vi64 k, vf64 *y) {
  *y = rm_normal_eval(k);
  return vf64_undecided_bf16(*y);
}
RM_FN vm64 rm_normal_fast_f16(vi64 k, vf64 *y) { /* results may be subnormal */
  *y = rm_normal_eval(k);
  return vf64_undecided_any(*y, RM_ERFINV_B64_ERR, RM_F16);
}

/* (i + 1/2) 2^-63 = h + l exactly, h = RN of it: i = high 2^32 + low, and Fast2Sum. */
RM_FN void rm_normal_dd(vi64 i, vf64 *h, vf64 *l) {
  const int64_t mask = (INT64_C(1) << 32) - 1;
  vf64 high = vi64_round_f64(vi64_and(i, vi64_set1(~mask)));
  vf64 low = vf64_add(vi64_round_f64(vi64_and(i, vi64_set1(mask))), vf64_set1(0.5));
  vf64 e, sum = vf64_fast_two_sum(high, low, &e);
  *l = vf64_mul(e, vf64_set1(0x1p-63));
  *h = vf64_mul(sum, vf64_set1(0x1p-63));
}

RM_FN vm64 rm_normal_fast_f64(vi64 k, vf64 *y) {
  const vi64 j = rm_normal_tail(k);
  vf64 uh, ul, vh, vl, hi, lo, err;
  rm_normal_dd(vi64_sub(vi64_set1(INT64_MAX), j), &uh, &ul); /* 2^63 - (j + 1/2) */
  rm_normal_dd(j, &vh, &vl);
  rm_erfinv_step_dd(rm_erfinv_of(uh, vh), uh, ul, vh, vl, &hi, &lo, &err);
  rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);
  vm64 undecided = vf64_undecided_f64(hi, lo, err, y);
  *y = vf64_copysign(*y, rm_normal_scaled(rm_normal_signed(k), 1.0));
  return undecided;
}
