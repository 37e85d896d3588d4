/* The accurate phase of trigamma: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "trigamma.h"
#include "trigamma_dd.h"
#include "trigamma_mp.h"

RM_COLD uint64_t rm_trigamma_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  double part = 0.0;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_pole(0, format, flags);
  if (rm_is_infinite(x)) return x > 0.0 ? 0 : rm_invalid(format, flags);
  if (x <= -0.5) {
    if (x > -0x1p52) part = rm_gamma_fraction(-x);
    if (part == 0.0) return rm_pole(0, format, flags);
  }
  /* trigamma x = 1/x^2 + pi^2/6 - ... beside 0, and 1/x + 1/(2 x^2) + ... beside infinity: less than 2^-129 above the first
   * term, which is on a boundary of rounding where x is a power of two. Of others it is at least 2^-194 of itself away, and
   * the multiprecision path decides. */
  int e;
  if (rm_decompose(x, &e) == UINT64_C(1) << 52) {
    if (x > -0x1p-65 && x < 0x1p-65) return rm_round_beside_scaled(1.0, -2 * (e + 52), 1, format, mode, flags);
    if (x > 0x1p130) return rm_round_beside_scaled(1.0, -(e + 52), 1, format, mode, flags);
  }
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  rm_dd_ball v;
  uint64_t bits;
  if (x <= -0.5) rm_trigamma_reflected_dd_ball(&v, x);
  else rm_trigamma_dd_ball(&v, x);
  if (rm_dd_ball_round(&v, format, mode, flags, &bits)) return bits;
#endif
  return rm_trigamma_mp_round(x, part, format, mode, flags);
}
