/* The accurate phase of exp10m1: any argument, format and rounding mode, for what the fast phase leaves undecided. Which
 * powers are rational: exp2m1_accurate.h. 10^k - 1 for k > 0 is odd, and so a boundary of rounding only if it has at most 54
 * bits, up to k = 16, or under stochastic rounding 86, up to k = 25; for k < 0 it is no fraction with a power of two as
 * denominator. */
#pragma once

#include "../exp2m1/exp2m1_accurate.h"
#include "exp10m1.h"

RM_COLD uint64_t rm_exp10m1_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  if (rm_exp2m1_closed(x, format, &bits)) return bits;
  /* log10(2) = 0.30103 - ... > 0.301: 10^x > 2^(emax+1) + 1, and 0 < 10^x < 2^-(p+2), less than half an ulp below 1. */
  if (x > (double)(rm_emax(format) + 1) * 0.3011) return rm_overflow(0, format, mode, flags);
  if (x < (double)(rm_precision(format) + 2 + rm_more_digits(mode)) * -0.3011)
    return rm_round_beside(-1.0, 0, format, mode, flags);
  if (1.0 <= x && x <= 25.0 && (double)(int)x == x) {
    rm_u128 power = 1;
    for (int k = 0; k < (int)x; k++) power *= 10;
    return rm_round_exact(0, power - 1, 0, format, mode, flags);
  }
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  if (x > 290.0) { /* the 1 is within rm_exp_round_dd's bound */
    vi64 k;
    double rh, rl;
    rm_exp10_reduce_dd(x, &k, &rh, &rl);
    bits = rm_exp_round_dd(0, k, rh, rl, format, mode, flags, &undecided);
  } else {
    const int shift = -0x1p-900 < x && x < 0x1p-900 ? 200 : 0; /* as in exp2m1_accurate.h */
    rm_exp10m1_dd(x * rm_pow2(shift), &hi, &lo, &err);
    bits = rm_round_dd(hi, lo, err, -shift, format, mode, flags, &undecided);
  }
  if (!undecided) return bits;
#endif
  return rm_exp2m1_mp_round(x, rm_mp_ln10, format, mode, flags);
}
