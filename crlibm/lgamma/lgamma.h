/* lgamma: the fast kernels and their domain. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "lgamma_b64.h"
#include "lgamma_vdd.h"

#define RM_LGAMMA_ODD 0

/* Lanes that are not in [least positive number, a number whose result is still finite], NaN included. In f64 also poles,
 * numbers too large to have a fraction, and tiny and huge ones. */
RM_FN vm64 rm_lgamma_special(vf64 x, int format) {
  const double max = format == RM_F16 ? 0x1p12 : 0x1.8p121;
  if (format == RM_F64) return rm_gamma_special(x, RM_GAMMA_LEAST, RM_GAMMA_MOST);
  return vm64_not(vm64_and(vf64_le(vf64_set1(0x1p-149), x), vf64_lt(x, vf64_set1(max))));
}

/* In f32 and the 16-bit formats the same evaluation, or the reflected one, decides most of the others: not zeros and poles,
 * where r = 0 or the argument is too large to have a fraction, nor infinities and NaN, of which it makes NaN. */
RM_NOINLINE vm64 rm_lgamma_decided_any(vf64 x, int format, vf64 *y) {
  const vf64 a = vf64_abs(x), zero = vf64_set1(0.0);
  const vm64 reflected = vf64_lt(x, vf64_set1(-0.5));
  vf64 sine, err;
  const vm64 pole = vm64_and(reflected, vf64_eq(rm_gamma_turn(vf64_min(vf64_set1(0x1p24), a), &sine), zero));
  const vf64 v = rm_lgamma_eval(x), w = rm_lgamma_reflected(x, &err);
  *y = vf64_select(reflected, w, v);
  err = vf64_select(reflected, err, vf64_mul(vf64_abs(v), vf64_set1(RM_LGAMMA_B64_ERR)));
  return vm64_andnot(vf64_lt(zero, a), vm64_or(pole, vf64_undecided_within(*y, err, format)));
}
RM_FN vm64 rm_lgamma_decided(vf64 x, int format, vf64 *y) {
  vf64 v = *y;
  const vm64 known = format == RM_F64 ? vf64_lt(x, x) : rm_lgamma_decided_any(x, format, &v);
  *y = vf64_select(known, v, *y);
  return known;
}

RM_NOINLINE void rm_lgamma_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vm64 special = rm_lgamma_special(x, RM_F64);
  rm_vdd_known(rm_lgamma_vdd(vf64_select(special, vf64_set1(3.0), x)), hi, lo, err);
}
RM_FAST_PHASE(lgamma, LGAMMA, 1)
