/* The accurate phase of x y: any arguments, format and rounding mode, by the exact product of the significands. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_multiply_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x) != rm_is_negative(y);
  int ex, ey;
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (rm_is_infinite(x) || rm_is_infinite(y)) {
    if (x == 0.0 || y == 0.0) return rm_invalid(format, flags);
    return rm_signed_infinity(negative, format);
  }
  if (x == 0.0 || y == 0.0) return rm_signed_zero(negative, format);
  const uint64_t mx = rm_decompose(x, &ex), my = rm_decompose(y, &ey);
  return rm_round_exact(negative, (rm_u128)mx * my, ex + ey, format, mode, flags);
}
