/* The accurate phase of digamma: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "digamma.h"
#include "digamma_dd.h"
#include "digamma_mp.h"

RM_COLD uint64_t rm_digamma_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  double part = 0.0;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_pole(!rm_is_negative(x), format, flags);
  if (rm_is_infinite(x)) return x > 0.0 ? rm_infinity_bits(format) : rm_invalid(format, flags);
  if (x <= -0.5) {
    if (x > -0x1p52) part = rm_gamma_fraction(-x);
    if (part == 0.0) return rm_invalid(format, flags);
  }
  if (x > -0x1p-130 && x < 0x1p-130) {
    /* digamma x = -1/x - gamma + ..., nearer to -1/x than 2^-129 of it; a power of two is not rounded by itself. Others are
     * at least 2^-107 of themselves from boundaries of rounding. */
    int e;
    if (rm_decompose(x, &e) == UINT64_C(1) << 52)
      return rm_round_beside_scaled(x > 0.0 ? -1.0 : 1.0, -e - 52, x > 0.0 ? 1 : -1, format, mode, flags);
  }
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  rm_dd_ball v;
  uint64_t bits;
  if (x <= -0.5) rm_digamma_reflected_dd_ball(&v, x);
  else rm_digamma_dd_ball(&v, x);
  if (rm_dd_ball_round(&v, format, mode, flags, &bits)) return bits;
#endif
  return rm_digamma_mp_round(x, part, format, mode, flags);
}
