/* exp, complete: any argument, format and rule. Called for the arguments that a fast kernel leaves undecided. */
#ifndef RM_EXP_SLOW_H
#define RM_EXP_SLOW_H

#include "exp.h"
#include "exp_wide.h"

RM_COLD uint64_t rm_exp_slow(double x, int format, int rule, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (x != x) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return x > 0.0 ? rm_infinity_bits(format) : 0;
  if (x == 0.0) return rm_one_bits(format);
  /* ln2 = 0.69314718... < 0.6932: exp(x) > 2^(emax+1). */
  if (x > (double)(emax + 1) * 0.6932) return rm_overflow(0, format, rule, flags);
  /* exp(x) < 2^(emin-p), half the least subnormal number. */
  if (x < (double)(emin - p) * 0.6932) return rm_round_exact(0, 1, emin - p - 64, format, rule, flags);
  /* 0 < |exp(x) - 1| < 2^-54 (below 1), < 2^-54 (1 + 2^-54) (above): no boundary between. */
  if (size < 0x1p-54)
    return rm_round_exact(0, ((rm_u128)1 << 60) + (x > 0.0 ? (rm_u128)1 : (rm_u128)0 - 1), -60, format, rule, flags);

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  vi64 k;
  double hi, lo, err;
  int undecided;
  rm_exp_dd_unscaled(x, &k, &hi, &lo, &err);
  /* k is below 2^15 in magnitude: its low 16 bits are all of it. */
  const uint64_t bits = rm_round_dd(hi, lo, err, (int16_t)k >> 4, format, rule, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_exp_wide_round(x, format, rule, flags);
}

#endif
