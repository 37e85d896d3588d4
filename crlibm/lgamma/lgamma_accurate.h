/* The accurate phase of lgamma: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "lgamma.h"
#include "lgamma_dd.h"
#include "lgamma_mp.h"

RM_COLD uint64_t rm_lgamma_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  double part = 0.0;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (rm_is_infinite(x)) return rm_infinity_bits(format);
  if (x == 1.0 || x == 2.0) return 0; /* +0 under every mode */
  if (x <= 0.0) {
    if (x > -0.5) part = -x;
    else if (x > -0x1p52) part = rm_gamma_fraction(-x);
    if (part == 0.0) return rm_pole(0, format, flags);
  }
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  rm_dd_ball v;
  uint64_t bits;
  if (x <= -0.5) rm_lgamma_reflected_dd_ball(&v, x);
  else rm_lgamma_dd_ball(&v, x);
  if (rm_dd_ball_round(&v, format, mode, flags, &bits)) return bits;
#endif
  return rm_lgamma_mp_round(x, part, format, mode, flags);
}
