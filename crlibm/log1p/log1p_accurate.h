/* The accurate phase of log1p: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log/log_any.h"
#include "log1p.h"
#include "log1p_mp.h"

RM_COLD uint64_t rm_log1p_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x < -1.0) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (x == -1.0) {
    *flags |= RM_FLAG_DIVBYZERO;
    return rm_infinity_bits(format) | rm_sign_bit(format);
  }
  if (x == 0.0) return rm_bits64(x) >> 63 ? rm_sign_bit(format) : 0;
  if (x == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_infinity_bits(format);
  /* 0 < x - log(1 + x) < x^2/2 / (1 - |x|) < 2^-54 |x|. */
  if (rm_is_near(size, 0x1p-54, 0x1p-90, mode)) return rm_round_beside(x, x < 0.0, format, mode, flags);
  if (size <= 0x1p-54) return rm_log1p_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  if (rm_log1p_special(x, RM_F64)) rm_log_any_dd(x, 0, &hi, &lo, &err); /* from 2^1023 on, where it is log x but for 1/x */
  else rm_log1p_dd(x, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_log1p_mp_round(x, format, mode, flags);
}
