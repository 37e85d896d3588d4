/* The accurate phase of tan: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../sin/sin_accurate.h"
#include "tan.h"
#include "tan_mp.h"

RM_COLD uint64_t rm_tan_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = vf64_abs(x);
  uint64_t special;
  if (rm_special_periodic(x, rm_signed_zero(negative, format), format, flags, &special)) return special;
  /* 0 < tan |x| - |x| < 0.34 |x|^3 < 2^-55 |x|. */
  if (rm_is_near(size, 0x1.fffffffffffffp-28, 0x1p-45, mode)) return rm_round_beside(x, 1, format, mode, flags);
  if (size < 0x1p-27) return rm_tan_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  int64_t k;
  double rh, rl, err, hi, lo;
  int undecided;
  rm_sin_reduce_any(size, &k, &rh, &rl, &err);
  rm_tan_reduced_dd(k, rh, rl, err, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_tan_mp_round(x, format, mode, flags);
}
