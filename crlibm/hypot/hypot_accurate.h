/* The accurate phase of hypot: any arguments, format and rounding mode. It tries double-double, then forms x^2 + y^2 exactly
 * (with a sticky bit when y is far below x) and takes an integer root. */
#pragma once

#include "../fp/exact.h"
#include "hypot_dd.h"

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
#if !defined(RM_CFG_NO_DD) /* a control build leaves it out */
  /* Times a power of two that makes the number of the larger exponent lie in [2^52, 2^53): the sum of the squares is below
   * 2^107. One that is less than 2^-399 of the other is taken as large as that: both squares are below 2^-796 of the sum, for
   * which err has room. */
  const int larger = ex > ey ? ex : ey, down = -400;
  const int dx = ex - larger < down ? down : ex - larger, dy = ey - larger < down ? down : ey - larger;
  double hi, lo, err;
  int undecided;
  rm_hypot_dd((double)mx * rm_pow2(dx), (double)my * rm_pow2(dy), &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(hi, lo, err, larger, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  const rm_u128 sum = rm_exact_sum(0, (rm_u128)mx * mx, 2 * (int64_t)ex, 0, (rm_u128)my * my, 2 * (int64_t)ey, &negative, &e);
  return rm_round_root(sum, e, format, mode, flags);
}
