/* The accurate phase of rsqrt: any argument, format and rounding mode. 1/x by long division, then an integer root; both with
 * their remainders. */
#pragma once

#include "../fp/exact.h"

RM_COLD uint64_t rm_rsqrt_accurate(double x, int format, int mode, uint32_t *flags) {
  int e;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_pole(rm_is_negative(x), format, flags);
  if (x < 0.0) return rm_invalid(format, flags);
  if (rm_is_infinite(x)) return 0;
  const rm_u128 reciprocal = rm_exact_reciprocal(rm_decompose(x, &e));
  return rm_round_root(reciprocal, -179 - e, format, mode, flags);
}
