/* digamma: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "digamma_b64.h"
#include "digamma_vdd.h"

/* Lanes that are not positive and finite; of +0 the result overflows. In f64 poles, numbers too large to have a fraction, and
 * tiny and huge ones. */
RM_FN vm64 rm_digamma_special(vf64 x, int format) {
  if (format == RM_F64) return rm_gamma_special(x, RM_GAMMA_LEAST, RM_GAMMA_MOST);
  return vm64_not(vi64_ltu(vf64_bits(x), vi64_set1(INT64_C(2047) << 52)));
}

/* The fast phase: of special lanes nothing is known. */
RM_FN vf64 rm_digamma_eval(vf64 x, vf64 *err) {
  const vf64 y = rm_digamma_within(x, err);
  *err = vf64_select(rm_digamma_special(x, RM_F32), vf64_from_bits(vi64_set1(INT64_C(0x7ff8) << 48)), *err);
  return y;
}

/* In f32 and the 16-bit formats the evaluation of a larger domain, or the reflected one, decides most of the others; not NaN
 * and infinities, and not 0, where the error is infinite too. Where r = 0, or the argument is too large to have a fraction,
 * it is invalid. */
RM_NOINLINE vm64 rm_digamma_decided_any(vf64 x, int format, vf64 *y) {
  const vf64 a = vf64_abs(x);
  const vm64 reflected = vf64_lt(x, vf64_set1(-0.5));
  vf64 sine, err, far;
  const vm64 pole = vm64_and(reflected, vf64_eq(rm_gamma_turn(vf64_min(vf64_set1(0x1p24), a), &sine), vf64_set1(0.0)));
  const vf64 v = rm_digamma_within(x, &err), w = rm_digamma_reflected(x, &far);
  *y = vf64_select(reflected, w, v);
  err = vf64_select(reflected, far, err);
  const vm64 good = vm64_andnot(vf64_le(a, vf64_set1(0x1.fffffep127)), pole);
  return vm64_or(vf64_decide_invalid(pole, y), vm64_andnot(good, vf64_undecided_within(*y, err, format)));
}
RM_FN vm64 rm_digamma_decided(vf64 x, int format, vf64 *y) {
  vf64 v = *y;
  const vm64 known = format == RM_F64 ? vf64_lt(x, x) : rm_digamma_decided_any(x, format, &v);
  *y = vf64_select(known, v, *y);
  return known;
}

RM_NOINLINE void rm_digamma_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vm64 special = rm_digamma_special(x, RM_F64);
  rm_vdd_known(rm_digamma_vdd(vf64_select(special, vf64_set1(3.0), x)), hi, lo, err);
}
RM_FAST_PHASE_WITHIN(digamma, 1)
