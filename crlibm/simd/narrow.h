/* Rounding tests of the narrow evaluations: binary32 arithmetic on twice the lanes, the result kept in two parts.
 *
 * A function that has <f>_narrow.h gives there, where RM_NARROW is 1,
 *   vm32 rm_<f>_narrow(vf32 x, vf32 *y)               f32 results; returns the lanes that are not decided
 *   vf32 rm_<f>_near(vf32 x)                          for the 16-bit formats: within RM_<F>_NEAR_ERR relatively, for every x whose result
 *                                                     is finite and not 0 in a 16-bit format; it may be anything else where
 *                                                     the result is so small (large) that it is zero (infinite) in f16, is
 *                                                     subnormal in bf16, or NaN; NaN where it is NaN
 *   RM_<F>_NEAR_NORMAL                                1: vf32_undecided_normal_f16 serves it
 * The loop gives the vectors with such lanes to the binary64 evaluation, and a block most of whose lanes are open as a whole: the
 * loop alone does not show every lane. tests/test_elementwise_narrow.py runs all 2^32 inputs lane by lane. Every operation has
 * one rounding, and so the same bits on every machine, but the estimate in vf32_reciprocal and its like: there the bounds derived
 * in the files are the proof for other machines. */
#ifndef RM_SIMD_NARROW_H
#define RM_SIMD_NARROW_H

#include "simd.h"

#if RM_NARROW

/* *y = RN(hi + lo); the lanes in which a value closer than err to hi + lo could round otherwise, NaN included. The sums
 * lo +- err round by up to 2^-24 |lo|: err includes that. */
RM_FN vm32 vf32_undecided(vf32 hi, vf32 lo, float err, vf32 *y) {
  *y = vf32_add(hi, vf32_add(lo, vf32_set1(err)));
  return vf32_ne(*y, vf32_add(hi, vf32_sub(lo, vf32_set1(err))));
}
/* The same with an error of its own in each lane. */
RM_FN vm32 vf32_undecided_by(vf32 hi, vf32 lo, vf32 err, vf32 *y) {
  *y = vf32_add(hi, vf32_add(lo, err));
  return vf32_ne(*y, vf32_add(hi, vf32_sub(lo, err)));
}

/* y, within rel |y|, for f16 by vf32_store_f16: the open lanes, and those whose result is NaN or may overflow. The two ends
 * differ by more than a unit of binary32, so a number that rounds to a midpoint of f16 lies strictly between them. */
RM_FN vm32 vf32_undecided_f16(vf32 y, float rel) {
  vm32 open = vf32_differ_f16(vf32_fma(y, vf32_set1(-rel), y), vf32_fma(y, vf32_set1(rel), y));
  return vm32_or(open, vf32_nle(vf32_abs(y), vf32_set1(65440.0f)));
}

/* The same for a function without overflow whose subnormal f16 results, where it has any, store right without a test: as
 * vf64_undecided, 13 bits are dropped; a unit of y's last place is at least 2^-24 |y|. */
RM_FN vm32 vf32_undecided_normal_f16(vf32 y, float rel) {
  const int32_t b = (int32_t)(rel * 0x1p24f), half = 0x1000;
  const int32_t kept = 0x1fff & ~(b ? 2 * b - 1 : 0); /* b = 0 only in a control build */
  return vm32_or(vf32_not_finite(y), vi32_disjoint(vi32_add(vf32_bits(y), vi32_set1(half + b)), vi32_set1(kept)));
}

/* *y, within rel |*y|, for bf16: as vf64_undecided, 16 bits are dropped; a unit of y's last place is at least 2^-24 |y|. The sum
 * that the test makes is, in a decided lane, already rounded: vf32_store_high stores it. */
RM_FN vm32 vf32_undecided_bf16(vf32 *y, float rel) {
  const int32_t b = (int32_t)(rel * 0x1p24f), half = 0x8000;
  const int32_t kept = 0xffff & ~(b ? 2 * b - 1 : 0); /* b = 0 only in a control build */
  vm32 special = vf32_not_normal(*y);
  vi32 sum = vi32_add(vf32_bits(*y), vi32_set1(half + b));
  *y = vf32_from_bits(sum);
  return vm32_or(special, vi32_disjoint(sum, vi32_set1(kept)));
}

#endif
#endif
