/* The accurate phase of exp10: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "exp10.h"
#include "../exp/exp_accurate.h"

RM_COLD uint64_t rm_exp10_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return x > 0.0 ? rm_infinity_bits(format) : 0;
  /* log10(2) = 0.30102999... < 0.30103: 10^x > 2^(emax+1). */
  if (x > (double)(emax + 1) * 0.30103) return rm_overflow(0, format, mode, flags);
  /* 10^x < 2^(emin-p), half the smallest subnormal number. */
  if (x < (double)(emin - p - rm_more_digits(mode)) * 0.30103)
    return rm_round_exact(0, 1, emin - p - 64, format, mode, flags);
  /* 10^n = 5^n 2^n is a number of a format or a midpoint of two only when 5^n has at most 54 bits, n <= 23, and another
   * boundary of stochastic rounding only when it has at most 86 bits, n <= 37. No other 10^x is: it is irrational, or n <
   * 0 and 5^-n is no dyadic fraction. */
  if (x >= 0.0 && x <= 55.0 && x == (double)(int)x) { /* 5^55 < 2^128 */
    rm_u128 m = 1;
    for (int i = 0; i < (int)x; i++) m *= 5;
    return rm_round_exact(0, m, (int)x, format, mode, flags);
  }
  /* ln10 < 2.31: 0 < |10^x - 1| < 2^-54. */
  if (rm_is_near(size, 0x1.fffffffffffffp-57, 0x1p-91, mode)) return rm_round_beside(1.0, x > 0.0, format, mode, flags);
  if (size < 0x1p-56) return rm_exp_mp_round(x, rm_mp_ln10, format, mode, flags); /* stochastic rounding tells it from 1 */
  vi64 k;
  double rh, rl;
  rm_exp10_reduce_dd(x, &k, &rh, &rl);
  return rm_exp_round(x, k, rh, rl, rm_mp_ln10, format, mode, flags);
}
