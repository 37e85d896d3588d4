/* The accurate phase of betaln: any arguments, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "betaln.h"
#include "betaln_dd.h"
#include "betaln_mp.h"

#define RM_NUM mp_ball
#define RM_BETALN_FROM 256
#include "betaln_formula.h"
#undef RM_NUM
#undef RM_BETALN_FROM

/* The integral is infinite where an argument is 0, and has no value below. With an infinite argument it is 0; beside an
 * argument of 0 anything is near. B(1, 1) = 1. */
RM_COLD uint64_t rm_betaln_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const double a = y < x ? y : x, b = y < x ? x : y;
  uint64_t bits = 0;
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (a < 0.0 || (a == 0.0 && rm_is_infinite(b))) return rm_invalid(format, flags);
  if (a == 0.0) return rm_pole(0, format, flags);
  if (rm_is_infinite(b)) return rm_signed_infinity(1, format);
  if (a == 1.0 && b == 1.0) return 0; /* +0 under every mode */
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  rm_dd_ball v;
  rm_betaln_dd_ball(&v, a, b, 0);
  if (rm_dd_ball_round(&v, format, mode, flags, &bits)) return bits;
#endif
  for (int n = RM_MP_FIRST; n <= RM_GAMMA_MP_MAX; n *= 2) {
    rm_mp_ball w;
    rm_betaln_mp_ball(&w, a, b, n);
    if (rm_mp_ball_round(&w, format, mode, flags, &bits)) break;
  }
  return bits;
}
