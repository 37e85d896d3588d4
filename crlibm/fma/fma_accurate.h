/* The accurate phase of x y + z: any arguments, format and rounding mode, by exact integers. */
#pragma once

#include "../add/add_accurate.h"
#include "../multiply/multiply_accurate.h"

RM_COLD uint64_t rm_fma_accurate(double x, double y, double z, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x) != rm_is_negative(y), nz = rm_is_negative(z);
  int ex, ey, ez;
  if (rm_is_nan(x) || rm_is_nan(y) || rm_is_nan(z)) return rm_nan_bits(format);
  if (rm_is_infinite(x) || rm_is_infinite(y)) {
    if (x == 0.0 || y == 0.0 || (rm_is_infinite(z) && nz != negative)) return rm_invalid(format, flags);
    return rm_signed_infinity(negative, format);
  }
  if (rm_is_infinite(z)) return rm_signed_infinity(nz, format);
  if (x == 0.0 || y == 0.0) return rm_add_accurate(negative ? -0.0 : 0.0, z, format, mode, flags);
  if (z == 0.0) return rm_multiply_accurate(x, y, format, mode, flags);
  const uint64_t mx = rm_decompose(x, &ex), my = rm_decompose(y, &ey), mz = rm_decompose(z, &ez);
  return rm_round_sum(negative, (rm_u128)mx * my, (int64_t)ex + ey, nz, mz, ez, format, mode, flags);
}
