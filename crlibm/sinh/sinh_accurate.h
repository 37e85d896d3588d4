/* The accurate phase of sinh: any argument, format and rounding mode, for what the fast phase leaves undecided. The last two
 * tiers are those of cosh too. */
#pragma once

#include "sinh.h"
#include "sinh_mp.h"
#include "../cosh/cosh_dd.h"
#include "../exp/exp_accurate.h"

/* sinh x, or cosh x when cosh is 1, for 2^-60 <= |x| <= 720. */
RM_COLD uint64_t rm_sinh_cosh_round(double x, int cosh, int format, rm_mode mode, uint32_t *flags) {
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  const int negative = !cosh && x < 0.0;
  int undecided;
  uint64_t bits;
  if (!rm_sinh_special(x, RM_F64)) {
    double hi, lo, err;
    if (cosh) rm_cosh_dd(x, &hi, &lo, &err);
    else rm_sinh_dd(x, &hi, &lo, &err);
    bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
  } else { /* e^|x|/2; e^-2|x| < 2^-1900 is within rm_exp_round_dd's bound */
    vi64 k;
    double rh, rl;
    rm_exp_reduce_dd(size, 0.0, &k, &rh, &rl);
    bits = rm_exp_round_dd(negative, k - 16, rh, rl, format, mode, flags, &undecided);
  }
  if (!undecided) return bits;
#endif
  return rm_sinh_cosh_mp_round(x, cosh, format, mode, flags);
}

RM_COLD uint64_t rm_sinh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return sign;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_infinity_bits(format) | sign;
  /* ln2 < 0.6932: (e^|x| - 1)/2 > 2^(emax+1). */
  if (size > (double)(rm_emax(format) + 2) * 0.6932) return rm_overflow(negative, format, mode, flags);
  /* 0 < sinh x - x < x^3/6 (1 + x^2) < 2^-54.5 x, for x > 0. */
  if (rm_is_near(size, 0x1p-26, 0x1p-45, mode)) return rm_round_beside(x, 1, format, mode, flags);
  if (size <= 0x1p-26) return rm_sinh_cosh_mp_round(x, 0, format, mode, flags); /* stochastic rounding tells the two apart */
  return rm_sinh_cosh_round(x, 0, format, mode, flags);
}
