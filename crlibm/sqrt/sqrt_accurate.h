/* The accurate phase of sqrt: any argument, format and rounding mode, by an integer root with its remainder. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_sqrt_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  int e;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_signed_zero(rm_is_negative(x), format);
  if (x < 0.0) return rm_invalid(format, flags);
  if (rm_is_infinite(x)) return rm_infinity_bits(format);
  const rm_u128 m = rm_decompose(x, &e);
  if (rm_mode_kind(mode) == RM_STOCHASTIC) return rm_round_root_exact(m << 74, e - 74, format, mode, flags);
  return rm_round_root(m << 74, e - 74, format, mode, flags);
}
