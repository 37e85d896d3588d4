/* tanh: the fast kernels and their domain. */
#ifndef RM_TANH_TANH_H
#define RM_TANH_TANH_H

#include "tanh_f32.h"
#include "tanh_f64.h"

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x, and |tanh x| = |x| (1 - x^2/3 + ...) is so
 * close below the number |x| that storing any value within the error bound gives x.
 * f64: NaN, and tiny |x| except 0, where the rounding is that of x (1 - x^2/3). */
RM_FN vm64 rm_tanh_special(vf64 x, int format) {
  if (format != RM_F64) return vf64_unord(x, x);
  vf64 a = vf64_abs(x);
  return vm64_or(vf64_unord(x, x), vm64_and(vf64_lt(a, vf64_set1(0x1p-27)), vf64_ne(x, vf64_set1(0.0))));
}

#endif
