/* The accurate phase of hypot: any arguments, format and rounding mode. x^2 + y^2 exactly (with a sticky bit when y is far below x),
 * then an integer root. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_hypot_accurate(double x, double y, int format, int mode, uint32_t *flags) {
  int ex, ey, negative;
  int64_t e;
  if (rm_is_infinite(x) || rm_is_infinite(y)) return rm_infinity_bits(format); /* whatever the other is */
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (x == 0.0 && y == 0.0) return 0;
  if (x == 0.0 || y == 0.0) { /* |x| or |y|, a number of the format */
    const uint64_t m = rm_decompose(x == 0.0 ? y : x, &ex);
    return rm_round_exact(0, m, ex, format, mode, flags);
  }
  const uint64_t mx = rm_decompose(x, &ex), my = rm_decompose(y, &ey);
  const rm_u128 sum = rm_exact_sum(0, (rm_u128)mx * mx, 2 * (int64_t)ex, 0, (rm_u128)my * my, 2 * (int64_t)ey, &negative, &e);
  return rm_round_root(sum, e, format, mode, flags);
}
