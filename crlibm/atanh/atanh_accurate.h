/* The accurate phase of atanh: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "atanh.h"
#include "atanh_mp.h"

RM_COLD uint64_t rm_atanh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return sign;
  if (size > 1.0) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (size == 1.0) {
    *flags |= RM_FLAG_DIVBYZERO;
    return rm_infinity_bits(format) | sign;
  }
  /* 0 < atanh x - x < x^3/3 / (1 - x^2) < 2^-55.5 x. */
  if (rm_is_near(size, 0x1p-27, 0x1p-45, mode)) return rm_round_beside(x, 1, format, mode, flags);
  if (size <= 0x1p-27) return rm_atanh_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD)
  if (!rm_atanh_special(x, RM_F64)) { /* double-double; a control build leaves it out */
    double hi, lo, err;
    int undecided;
    rm_atanh_dd(size, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_atanh_mp_round(x, format, mode, flags);
}
