/* The accurate phase of erf_backward: any arguments, format and rounding mode, for what the fast phase leaves undecided.
 *
 * Products with the limits of erf' as IEEE 754 has them: erf'(+-inf) = +0. Infinity times that is invalid. */
#pragma once

#include "erf_backward.h"
#include "erf_backward_mp.h"

RM_COLD uint64_t rm_erf_backward_accurate(double g, double x, int format, int mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format), negative = (int)(rm_bits64(g) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  if (rm_is_nan(g) || rm_is_nan(x)) return rm_nan_bits(format);
  const int vanishes = x == infinity || x == -infinity;
  if (g == infinity || g == -infinity) {
    if (!vanishes) return rm_infinity_bits(format) | sign;
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (g == 0.0 || vanishes) return sign;
  int e;
  rm_decompose(g, &e);
  /* |g| 2/sqrt(pi) exp(-x^2) < 2^(e+54) exp(-x^2) < 2^(emin-p). */
  if (x * x > (double)(e + 54 + p - emin) * 0.6932) return rm_round_exact(negative, 1, emin - p - 64, format, mode, flags);

#if !defined(RM_CFG_NO_DD)
  if (x <= RM_ERF_BACKWARD_DD_MAX && x >= -RM_ERF_BACKWARD_DD_MAX) { /* double-double; a control build leaves it out */
    const double s = (double)rm_decompose(g, &e) * 0x1p-52; /* |g| = s 2^(e+52), 1 <= s < 2 */
    double hi, lo, err;
    int undecided;
    rm_erf_backward_dd(negative ? -s : s, x, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(hi, lo, err, e + 52, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_erf_backward_mp_round(g, x, format, mode, flags);
}
