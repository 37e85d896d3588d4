/* tanh: the fast kernels and their domain. */
#ifndef RM_TANH_TANH_H
#define RM_TANH_TANH_H

#include "tanh_f32.h"
#include "tanh_f64.h"

#define RM_TANH_ODD 1

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x, and |tanh x| = |x| (1 - x^2/3 + ...) is so
 * close below the number |x| that storing any value within the error bound gives x.
 * f64: 0 < |x| < 2^-960, where exact products would underflow. A NaN stays a NaN, which the rounding test does not decide. */
RM_FN vm64 rm_tanh_special(vf64 x, int format) {
  if (format != RM_F64) return vf64_unord(x, x);
  const int64_t least = (INT64_C(1023) - 960) << 52;
  return vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1(1)), vi64_set1(least - 1));
}

/* No special lane has a result that is known at once. */
RM_FN vm64 rm_tanh_settled(vf64 x, int format, vf64 *y) {
  (void)format;
  (void)y;
  return vf64_lt(x, x);
}

#endif
