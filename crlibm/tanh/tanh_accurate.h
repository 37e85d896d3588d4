/* The accurate phase of tanh: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "tanh.h"
#include "tanh_mp.h"

RM_COLD uint64_t rm_tanh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = vf64_abs(x);
  uint64_t special;
  if (rm_special_saturating(x, format, &special)) return special;
  /* 1 - tanh x = 2/(exp(2x) + 1) < 2 exp(-2x) < 2^-(p+1), half an ulp below 1, from x > (p+2) ln2/2 on; ln2/2 < 0.3466. The
   * boundaries of stochastic rounding are 33 digits nearer. */
  if (size > (double)(rm_precision(format) + 2 + rm_more_digits(mode)) * 0.3466)
    return rm_round_beside(negative ? -1.0 : 1.0, 0, format, mode, flags);
  if (size > 19.5) return rm_tanh_mp_round(x, format, mode, flags); /* stochastic rounding alone comes here */
  /* 0 < x - tanh x < x^3/3 <= 2^-55.5 x (alternating series). */
  if (rm_is_near(size, 0x1p-27, 0x1p-45, mode)) return rm_round_beside(x, 0, format, mode, flags);
  if (size <= 0x1p-27) return rm_tanh_mp_round(x, format, mode, flags); /* stochastic rounding tells the two apart */

#if !defined(RM_CFG_NO_DD)
  if (!rm_tanh_special(x, RM_F64)) { /* double-double; a control build leaves it out */
    double hi, lo, err;
    int undecided;
    rm_tanh_dd(size, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_tanh_mp_round(x, format, mode, flags);
}
