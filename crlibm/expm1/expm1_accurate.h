/* The accurate phase of expm1: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "expm1.h"
#include "expm1_mp.h"
#include "../exp/exp_accurate.h"

RM_COLD uint64_t rm_expm1_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_bits64(x) >> 63 ? rm_sign_bit(format) : 0;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000)))
    return x > 0.0 ? rm_infinity_bits(format) : rm_one_bits(format) | rm_sign_bit(format);
  /* ln2 < 0.6932: e^x > 2^(emax+1) + 1. */
  if (x > (double)(rm_emax(format) + 1) * 0.6932) return rm_overflow(0, format, mode, flags);
  /* 0 < e^x < 2^-(p+2), less than half an ulp below 1. */
  if (x < (double)(rm_precision(format) + 2 + rm_more_digits(mode)) * -0.6932)
    return rm_round_beside(-1.0, 0, format, mode, flags);
  /* e^x - 1 = x + x^2/2 + ..., the rest within 2^-54 |x|: larger for x > 0, smaller in magnitude for x < 0. */
  if (rm_is_near(size, 0x1.fffffffffffffp-55, 0x1p-90, mode)) return rm_round_beside(x, x > 0.0, format, mode, flags);
  if (size < 0x1p-54 || x < -38.5) return rm_expm1_mp_round(x, format, mode, flags); /* for stochastic rounding alone */

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  int undecided;
  uint64_t bits;
  if (!rm_expm1_special(x, RM_F64)) {
    double hi, lo, err;
    rm_expm1_dd(x, &hi, &lo, &err);
    bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  } else { /* e^-x < 2^-900: the 1 is within rm_exp_round_dd's bound */
    vi64 k;
    double rh, rl;
    rm_exp_reduce_dd(x, 0.0, &k, &rh, &rl);
    bits = rm_exp_round_dd(0, k, rh, rl, format, mode, flags, &undecided);
  }
  if (!undecided) return bits;
#endif
  return rm_expm1_mp_round(x, format, mode, flags);
}
