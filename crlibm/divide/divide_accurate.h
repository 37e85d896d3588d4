/* The accurate phase of x / y: any arguments, format and rounding mode, by integer division with its remainder. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_divide_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x) != rm_is_negative(y);
  int ex, ey;
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (rm_is_infinite(x)) return rm_is_infinite(y) ? rm_invalid(format, flags) : rm_signed_infinity(negative, format);
  if (rm_is_infinite(y)) return rm_signed_zero(negative, format);
  if (y == 0.0) return x == 0.0 ? rm_invalid(format, flags) : rm_pole(negative, format, flags);
  if (x == 0.0) return rm_signed_zero(negative, format);
  const rm_u128 mx = (rm_u128)rm_decompose(x, &ex) << 64; /* the quotient has 64 or 65 bits */
  const uint64_t my = rm_decompose(y, &ey);
  if (rm_mode_kind(mode) == RM_STOCHASTIC) { /* 56 bits more, for its boundaries */
    const rm_u128 rest = (mx % my) << 56;
    return rm_round_exact(negative, mx / my << 56 | rest / my | (rest % my != 0), ex - 120 - ey, format, mode, flags);
  }
  return rm_round_exact(negative, mx / my | (mx % my != 0), ex - 64 - ey, format, mode, flags);
}
