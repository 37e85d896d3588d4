/* The accurate phase of cos: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../sin/sin_accurate.h"
#include "cos.h"

RM_COLD uint64_t rm_cos_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t special;
  if (rm_special_periodic(x, rm_one_bits(format), format, flags, &special)) return special;
  /* 0 < 1 - cos x < x^2/2 < 2^-55. */
  if (rm_is_near(vf64_abs(x), 0x1.fffffffffffffp-28, 0x1p-45, mode)) return rm_round_beside(1.0, 0, format, mode, flags);
  if (vf64_abs(x) < 0x1p-27)
    return rm_sin_mp_round(x, 1, 0, format, mode, flags); /* stochastic rounding tells the two apart */
  return rm_sin_accurate_turned(x, 1, 0, format, mode, flags);
}
