/* The accurate phase of exp2: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "exp2.h"
#include "../exp/exp_accurate.h"

RM_COLD uint64_t rm_exp2_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return x > 0.0 ? rm_infinity_bits(format) : 0;
  if (x >= (double)(emax + 1)) return rm_overflow(0, format, mode, flags);
  /* Below half the smallest subnormal number. */
  if (x < (double)(emin - p - rm_more_digits(mode))) return rm_round_exact(0, 1, emin - p - 64, format, mode, flags);
  if (x == (double)(int)x) return rm_round_exact(0, 1, (int)x, format, mode, flags);
  /* 0 < |2^x - 1| < 2^-54, as in exp_accurate.h. Every other 2^x is irrational. */
  if (rm_is_near(size, 0x1.fffffffffffffp-55, 0x1p-90, mode)) return rm_round_beside(1.0, x > 0.0, format, mode, flags);
  if (size < 0x1p-54) return rm_exp_mp_round(x, rm_mp_ln2, format, mode, flags); /* stochastic rounding tells it from 1 */
  vi64 k;
  double rh, rl;
  rm_exp2_reduce_dd(x, &k, &rh, &rl);
  return rm_exp_round(x, k, rh, rl, rm_mp_ln2, format, mode, flags);
}
