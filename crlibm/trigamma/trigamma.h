/* trigamma: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "trigamma_b64.h"
#include "trigamma_vdd.h"

/* Lanes that are not positive and finite; of +0 the result overflows. In f64 poles, numbers too large to have a fraction, and
 * tiny and huge ones. */
RM_FN vm64 rm_trigamma_special(vf64 x, int format) {
  if (format == RM_F64) return rm_gamma_special(x, RM_TRIGAMMA_LEAST, RM_TRIGAMMA_MOST);
  return vm64_not(vi64_ltu(vf64_bits(x), vi64_set1(INT64_C(2047) << 52)));
}

#define RM_TRIGAMMA_FAST_FORMAT(fmt, FMT)                                                                      \
  RM_FN vm64 rm_trigamma_fast_##fmt(const vf64 *x, vf64 *y) {                                                  \
    *y = rm_trigamma_eval(x[0]);                                                                               \
    const vm64 undecided = vm64_or(vf64_undecided_any(*y, RM_TRIGAMMA_B64_ERR, FMT), vf64_overflows(*y, FMT)); \
    return vm64_or(undecided, rm_trigamma_special(x[0], FMT));                                                 \
  }
RM_TRIGAMMA_FAST_FORMAT(f16, RM_F16)
RM_TRIGAMMA_FAST_FORMAT(bf16, RM_BF16)
RM_TRIGAMMA_FAST_FORMAT(f32, RM_F32)

/* In f32 and the 16-bit formats the same evaluation of a larger domain, or the reflected one, decides most of the others: not
 * poles, where r = 0 or the argument is too large to have a fraction, nor 0. */
RM_NOINLINE vm64 rm_trigamma_decided_any(vf64 x, int format, vf64 *y) {
  const vf64 a = vf64_abs(x), zero = vf64_set1(0.0);
  const vm64 reflected = vf64_lt(x, vf64_set1(-0.5));
  vf64 sine;
  const vm64 pole = vm64_and(reflected, vf64_eq(rm_gamma_turn(vf64_min(vf64_set1(0x1p24), a), &sine), zero));
  const vf64 v = vf64_select(reflected, rm_trigamma_reflected(x), rm_trigamma_eval(x));
  return vm64_and(vm64_andnot(vf64_lt(zero, a), pole), vf64_decide_any(v, RM_TRIGAMMA_B64_ERR, format, y));
}
RM_FN vm64 rm_trigamma_decided(vf64 x, int format, vf64 *y) {
  vf64 v = *y;
  const vm64 known = format == RM_F64 ? vf64_lt(x, x) : rm_trigamma_decided_any(x, format, &v);
  *y = vf64_select(known, v, *y);
  return known;
}

RM_NOINLINE void rm_trigamma_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vm64 special = rm_trigamma_special(x, RM_F64);
  rm_vdd_known(rm_trigamma_vdd(vf64_select(special, vf64_set1(3.0), x)), hi, lo, err);
}
RM_FAST_PHASE_DD_ANY(trigamma, 1)
