/* The accurate phase of atan2: any arguments, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "atan2.h"
#include "../atan/atan_accurate.h"

/* C23 F.10.1.4: an infinity stands for a direction, of 45 degrees when both are infinite; a zero x has a side of the y
 * axis only when y is zero. No exception is raised. */
RM_COLD uint64_t rm_atan2_accurate(double y, double x, int format, rm_mode mode, uint32_t *flags) {
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const int negative = (int)(rm_bits64(y) >> 63), left = (int)(rm_bits64(x) >> 63);
  const int y_infinite = y == infinity || y == -infinity, x_infinite = x == infinity || x == -infinity;
  if (rm_is_nan(y) || rm_is_nan(x)) return rm_nan_bits(format);
  if (y_infinite || x_infinite) {
    y = y_infinite ? 1.0 : 0.0;
    x = x_infinite ? 1.0 : 0.0;
    if (negative) y = -y;
    if (left) x = -x;
  }
  if (y == 0.0) {
    if (!left) return negative ? rm_sign_bit(format) : 0;
    x = -1.0;
  }
  return rm_atan_direction_accurate(y, x, format, mode, flags);
}
