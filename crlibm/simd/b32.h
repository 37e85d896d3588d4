/* Ziv's rounding test for binary32 evaluations: binary32 arithmetic on twice the lanes, the result kept in two parts.
 *
 * A function that has <f>_b32.h gives there, where RM_B32 is 1,
 *   vm32 rm_<f>_b32(vf32 x, vf32 *y)                  f32 results; returns the undecided lanes
 *   RM_B32_<f>                                     where the loop uses it: RM_B32 or RM_B32_FULL (simd.h)
 * The loop gives the vectors with such lanes to the binary64 evaluation, and a block most of whose lanes are undecided as a
 * whole: the loop alone does not show every lane. tests/elementwise/test_b32.py runs all 2^32 inputs lane by lane. Every
 * operation has one rounding, and so the same bits on every machine, but the estimates in vf32_reciprocal and vf32_rsqrt:
 * proofs/oracle/estimates.c tries all estimates of the accuracy that CPU vendors state. */
#pragma once

#include "simd.h"

#if RM_B32

/* Bounds of <f>_b32_half.h go to Ziv's rounding test through RM_HALF_ERR_<f>(format). Where every operation of it has one
 * rounding, and so one result on every machine, a run over all inputs is the proof (tests/elementwise/test_b32.py, lane
 * by lane), and the test takes the least error that passes it: often 0, when only a result that lies on a midpoint is
 * undecided. In f16 no test is needed where the run shows that the results round to what they should as they are:
 * RM_HALF_KNOWN_<f> is 1, RM_HALF_INPUTS_<f> says for which inputs. The few whose results lie on the wrong midpoint are not
 * among them; or where no result is as close to a midpoint as the evaluation errs (rsqrt). RM_HALF_CLAIM_<f>, of one
 * argument, is the sum of the errors that the file derives, relative to the result: proofs/oracle/b32_half.py measures the
 * errors of all numbers against it. */
#define RM_NAN_16 \
  __builtin_nanf("") /* in a lane of <f>_b32_half.h that is left to binary64: the rounding tests take no other NaN */

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

#endif
