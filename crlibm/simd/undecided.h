/* Ziv's rounding test: the lanes that an evaluation has not decided. Each function returns every lane in which two numbers
 * within the error bound of the evaluation could round differently. */
#pragma once

#include "simd.h"

/* Round y to nearest in a format whose significand drops `dropped` of binary64's 53 bits, for |y| in the format's normal
 * range or y = 0; true value closer than rel |y|, rel a power of two.
 *
 * A unit of y's last place is at least 2^-53 |y|, so the error is below B = rel 2^53 units. With half = 2^(dropped-1), the
 * midpoint of two numbers of the format has `half` in the dropped bits. Adding half + B carries (half - B, half + B) into
 * (0, 2B) modulo 2 half: a lane is undecided only if the dropped bits of the sum from 2B upwards are all zero. */
RM_FN vm64 vf64_undecided(vf64 y, double rel, int dropped) {
  const int64_t b = (int64_t)(rel * 0x1p53), half = INT64_C(1) << (dropped - 1);
  const int64_t kept = (2 * half - 1) & ~(b ? 2 * b - 1 : 0); /* b = 0 only in a control build */
  return vi64_disjoint(vi64_add(vf64_bits(y), vi64_set1(half + b)), vi64_set1(kept));
}

RM_FN vm64 vf64_undecided_f32(vf64 y, double rel) { return vf64_undecided(y, rel, 29); }

/* The 16-bit formats are stored through f32 (vf64_store_f16, _bf16). The two roundings differ from one only when the f32
 * number is a midpoint of the 16-bit format, that is when y lies within half an f32 unit, at most 2^-24 |y|, of it. So these
 * lanes count as undecided; every evaluation is far closer than 2^-25, hence rel = 2^-24 + 2^-25 < 2^-23 covers both. */
RM_FN vm64 vf64_undecided_f16(vf64 y) { return vf64_undecided(y, RM_BOUND(0x1p-23), 42); }
RM_FN vm64 vf64_undecided_bf16(vf64 y) { return vf64_undecided(y, RM_BOUND(0x1p-23), 45); }

/* Round hi + lo to nearest f64 (*y), true value closer than |err|, result normal. hi need not be RN(hi + lo): |lo| <= 2^-9
 * |hi|. The sum lo + err rounds by up to 2^-53 |lo|: err includes that. */
RM_FN vm64 vf64_undecided_f64(vf64 hi, vf64 lo, vf64 err, vf64 *y) {
  *y = vf64_add(hi, vf64_add(lo, err));
  return vf64_ne(*y, vf64_add(hi, vf64_sub(lo, err)));
}

/* The bound of a product hi + lo: err where hi is between 2^-960 and 2^1020, so that the product was exact in two parts, or
 * where it is `zero`, exactly; else NaN, and the lane is undecided. */
RM_FN vf64 vf64_bound_if_exact(vf64 hi, vm64 zero, vf64 err) {
  const vf64 size = vf64_abs(hi);
  const vm64 inside = vm64_and(vf64_le(vf64_set1(0x1p-960), size), vf64_le(size, vf64_set1(0x1p1020)));
  return vf64_select(vm64_or(inside, zero), err, vf64_from_bits(vi64_set1(INT64_C(0x7ff8) << 48)));
}

/* The tests below hold for results of any size, zero and subnormal ones too, in the formats rounded from binary64. With E =
 * 2^floor(log2|y|), or the smallest normal number when that is larger, q = E 2^(1-p) is the quantum of the format at y, and
 * adding M = 1.5 2^52 q rounds to a multiple of it, ties as the format has them: for |y| + err < 2^51 q the bits of M + y
 * count in units of q. y is at or beyond the overflow threshold of the format, infinite or NaN in the lanes of
 * vf64_overflows. */
RM_FN vf64 vf64_quantum_(vf64 y, int format) { /* E */
  const double min = format == RM_F16 ? 0x1p-14 : 0x1p-126;
  return vf64_max(vf64_from_bits(vi64_and(vf64_bits(y), vi64_set1(INT64_C(0x7ff) << 52))), vf64_set1(min));
}
RM_FN double vf64_magic_(int format) { /* M/E */
  return format == RM_F32 ? 0x1.8p29 : format == RM_F16 ? 0x1.8p42 : 0x1.8p45;
}
RM_FN vm64 vf64_overflows(vf64 y, int format) {
  const double min = format == RM_F32 ? 0x1.ffffffp127 : format == RM_F16 ? 0x1.ffep15 : 0x1.ffp127;
  return vm64_not(vf64_lt(vf64_abs(y), vf64_set1(min)));
}

/* Round y to f16, bf16 or f32; true value closer than rel |y|, 2^-51 <= rel <= 2^-38. One rounding of y (1 -+ rel) adds 2^-53
 * |y|. Below a power of two the quantum is q/2, but its nearest midpoint q/4 away: out of reach. The 16-bit formats are
 * stored through f32 (as above), half a unit of which is at most 2^-24 E: y -+ 2^-22 E covers both. */
RM_FN vm64 vf64_undecided_any(vf64 y, double rel, int format) {
  const vf64 e = vf64_quantum_(y, format), m = vf64_mul(e, vf64_set1(vf64_magic_(format)));
  if (format == RM_F32) return vf64_ne(vf64_mad(y, vf64_set1(1.0 - rel), m), vf64_mad(y, vf64_set1(1.0 + rel), m));
  const vf64 d = vf64_mul(e, vf64_set1(RM_BOUND(0x1p-22)));
  return vf64_ne(vf64_add(vf64_sub(y, d), m), vf64_add(vf64_add(y, d), m));
}

/* The same for a true value closer than err absolutely, err >= 0 also including 2^-52 |y| for the roundings of y -+ err: for
 * functions that change sign. The quantum is that at |y| - err. When err >= |y|/4, the two sums differ. */
RM_FN vm64 vf64_undecided_within(vf64 y, vf64 err, int format) {
  const vf64 e = vf64_quantum_(vf64_sub(vf64_abs(y), err), format), m = vf64_mul(e, vf64_set1(vf64_magic_(format)));
  if (format != RM_F32) err = vf64_mad(e, vf64_set1(RM_BOUND(0x1p-22)), err);
  return vf64_ne(vf64_add(vf64_sub(y, err), m), vf64_add(vf64_add(y, err), m));
}

/* The special lanes of an odd function that is like c x at 0 and saturates: NaN; for f64 (where a NaN fails the test above by
 * itself) 0 < |x| < 2^-960, where exact products would underflow. */
RM_FN vm64 vf64_special_odd(vf64 x, int format) {
  if (format != RM_F64) return vf64_unord(x, x);
  const int64_t min = (INT64_C(1023) - 960) << 52;
  return vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(1)), vi64_set1(min - 1));
}
