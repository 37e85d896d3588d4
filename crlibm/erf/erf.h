/* erf: the fast kernels and their domain. */
#ifndef RM_ERF_ERF_H
#define RM_ERF_ERF_H

#include "erf_f32.h"
#include "erf_f64.h"

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x = n 2^-149 (2^-24 for f16), for which the
 * evaluation is RN(x c_1), c_1 = RN(2/sqrt(pi)), off by less than 2^-51 relatively; no n below 2^23 has n 2/sqrt(pi) that close
 * to a midpoint (erf_gen.py checks all of them).
 * f64: NaN, and tiny |x| except 0, where products underflow. */
RM_FN vm64 rm_erf_special(vf64 x, int format) {
  if (format != RM_F64) return vf64_unord(x, x);
  vf64 a = vf64_abs(x);
  return vm64_or(vf64_unord(x, x), vm64_and(vf64_lt(a, vf64_set1(0x1p-27)), vf64_ne(x, vf64_set1(0.0))));
}

#endif
