/* The accurate phase of x + y: any arguments, format and rounding mode, by exact integers. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_add_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const int nx = rm_is_negative(x), ny = rm_is_negative(y);
  int ex, ey;
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (rm_is_infinite(x) || rm_is_infinite(y)) {
    if (rm_is_infinite(x) && rm_is_infinite(y) && nx != ny) return rm_invalid(format, flags);
    return rm_signed_infinity(rm_is_infinite(x) ? nx : ny, format);
  }
  if (x == 0.0 && y == 0.0) return rm_signed_zero(rm_zero_sum_sign(nx, ny, mode), format);
  if (x == 0.0 || y == 0.0) { /* the other one is a number of the format */
    const uint64_t m = rm_decompose(x == 0.0 ? y : x, &ex);
    return rm_round_exact(x == 0.0 ? ny : nx, m, ex, format, mode, flags);
  }
  const uint64_t mx = rm_decompose(x, &ex), my = rm_decompose(y, &ey);
  return rm_round_sum(nx, mx, ex, ny, my, ey, format, mode, flags);
}
