/* The accurate phase of asin: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "asin.h"
#include "asin_mp.h"

RM_COLD uint64_t rm_asin_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size > 1.0) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (size == 0.0) return negative ? rm_sign_bit(format) : 0;
  /* 0 < asin x - x < x^3/5 < 2^-56 x (all terms of the series are positive). */
  if (rm_is_near(size, 0x1p-27, 0x1p-45, mode)) return rm_round_beside(x, 1, format, mode, flags);
  if (size <= 0x1p-27) return rm_asin_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  rm_asin_dd(size, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_asin_mp_round(x, format, mode, flags);
}
