/* The accurate phase of exp: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "exp.h"
#include "exp_mp.h"

#if !defined(RM_CFG_NO_DD) /* a control build leaves the double-double tier out */
/* +-2^(k/16) e^(rh + rl), reduced as in exp_dd.h, rounded if that can be decided. The bound leaves room for a relative
 * difference of 2^-80. */
RM_FN uint64_t rm_exp_round_dd(int negative, vi64 k, double rh, double rl, int format, rm_mode mode, uint32_t *flags,
                               int *undecided) {
  double h, c, t, hi, lo, err;
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_unscaled_dd(k, rh, h, c, &hi, &lo, &err);
  /* k is below 2^15 in magnitude: its low 16 bits are all of it. */
  return rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, (int16_t)k >> 4, format, mode, flags, undecided);
}
#endif

/* The last two tiers of exp, exp2 and exp10: b^x = 2^(k/16) e^(rh + rl); x and ln as in rm_exp_mp_round. */
RM_COLD uint64_t rm_exp_round(double x, vi64 k, double rh, double rl, const uint64_t *ln, int format, rm_mode mode,
                              uint32_t *flags) {
#if !defined(RM_CFG_NO_DD)
  int undecided;
  const uint64_t bits = rm_exp_round_dd(0, k, rh, rl, format, mode, flags, &undecided);
  if (!undecided) return bits;
#else
  (void)k, (void)rh, (void)rl;
#endif
  return rm_exp_mp_round(x, ln, format, mode, flags);
}

RM_COLD uint64_t rm_exp_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return x > 0.0 ? rm_infinity_bits(format) : 0;
  if (x == 0.0) return rm_one_bits(format);
  /* ln2 = 0.69314718... < 0.6932: exp(x) > 2^(emax+1). */
  if (x > (double)(emax + 1) * 0.6932) return rm_overflow(0, format, mode, flags);
  /* exp(x) < 2^(emin-p), half the smallest subnormal number. */
  if (x < (double)(emin - p - rm_more_digits(mode)) * 0.6932) return rm_round_exact(0, 1, emin - p - 64, format, mode, flags);
  /* 0 < |exp(x) - 1| < 2^-54 (below 1), < 2^-54 (1 + 2^-54) (above): no boundary between. */
  if (rm_is_near(size, 0x1.fffffffffffffp-55, 0x1p-90, mode))
    return rm_round_exact(0, ((rm_u128)1 << 100) + (x > 0.0 ? (rm_u128)1 : (rm_u128)0 - 1), -100, format, mode, flags);

  if (size < 0x1p-54) return rm_exp_mp_round(x, 0, format, mode, flags); /* stochastic rounding tells it from 1 */

  vi64 k;
  double rh, rl;
  rm_exp_reduce_dd(x, 0.0, &k, &rh, &rl);
  return rm_exp_round(x, k, rh, rl, 0, format, mode, flags);
}
