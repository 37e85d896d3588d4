/* The accurate phase of hypot: any arguments, format and rounding mode. It tries double-double, then forms x^2 + y^2 exactly
 * (with a sticky bit when y is far below x) and takes an integer root. */
#pragma once

#include "../fp/exact.h"
#include "../pow/root_mp.h"
#include "hypot_dd.h"

/* The root of x^2 + y^2 under stochastic rounding, x = mx 2^ex >= y = my 2^ey, where it is no number of the format. From
 * ex = ey + 48 on it exceeds x by less than 2^-94 x; else x^2 + y^2 is an integer of at most 202 bits, times 2^(2 ey). */
RM_COLD uint64_t rm_hypot_mp_round(uint64_t mx, int ex, uint64_t my, int ey, int format, rm_mode mode, uint32_t *flags) {
  const int d = ex - ey;
  uint64_t sum[4];
  if (d >= 48) return rm_round_exact(0, (rm_u128)mx << 60 | 1, ex - 60, format, mode, flags);
  const rm_u128 square = (rm_u128)mx * mx;
  const uint64_t high = (uint64_t)(square >> 64);
  const int from = d >= 32, bit = 2 * d - 64 * from; /* x^2 moves up by `from` limbs and `bit` bits, below 64 */
  rm_u128 carry = (rm_u128)my * my;
  uint64_t moved[4] = {0, 0, 0, 0};
  moved[from] = (uint64_t)square << bit;
  moved[from + 1] = (uint64_t)(square >> (64 - bit));
  moved[from + 2] = bit ? high >> (64 - bit) : 0;
  for (int i = 0; i < 4; i++) {
    const rm_u128 t = (rm_u128)(uint64_t)carry + moved[i];
    sum[i] = (uint64_t)t;
    carry = (carry >> 64) + (t >> 64);
  }
  int64_t e = 2 * (int64_t)ey;
  while (sum[3] >> 63 == 0) { /* the top bit is set */
    for (int i = 3; i > 0; i--) sum[i] = sum[i] << 1 | sum[i - 1] >> 63;
    sum[0] <<= 1;
    e--;
  }
  return rm_root_mp_round(0, sum, e, 2, 0, format, mode, flags);
}

RM_COLD uint64_t rm_hypot_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
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
  if (rm_mode_kind(mode) == RM_STOCHASTIC) {
    uint32_t ignored = 0;
    const uint64_t short_of = rm_round_root(sum, e, format, RM_TOWARD_ZERO, &ignored);
    if (short_of == rm_round_root(sum, e, format, RM_UP, &ignored)) return short_of; /* exact */
    return ex > ey ? rm_hypot_mp_round(mx, ex, my, ey, format, mode, flags)
                   : rm_hypot_mp_round(my, ey, mx, ex, format, mode, flags);
  }
  return rm_round_root(sum, e, format, mode, flags);
}
