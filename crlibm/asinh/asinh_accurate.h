/* The accurate phase of asinh: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log/log_any.h"
#include "asinh.h"
#include "asinh_mp.h"

RM_COLD uint64_t rm_asinh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return sign;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_infinity_bits(format) | sign;
  /* 0 < x - asinh x < x^3/6 <= 2^-54.5 x (alternating series). */
  if (rm_is_near(size, 0x1p-26, 0x1p-45, mode)) return rm_round_beside(x, 0, format, mode, flags);
  if (size <= 0x1p-26) return rm_asinh_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  if (rm_asinh_special(x, RM_F64))
    rm_log_any_dd(size, 1, &hi, &lo, &err); /* from 2^1021 on, where it is log(2 |x|) but for 1/x^2 */
  else rm_asinh_dd(size, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_asinh_mp_round(x, format, mode, flags);
}
