/* The accurate phase of erf_backward: any arguments, format and rounding mode, for what the fast phase leaves undecided.
 *
 * At an infinite x the result is the product with the limit of erf', by IEEE 754: erf'(+-inf) = +0. Infinity times 0 is
 * invalid. */
#pragma once

#include "../erfc/erfc_unscaled.h"
#include "erf_backward.h"
#include "erf_backward_mp.h"

RM_COLD uint64_t rm_erf_backward_accurate(double g, double x, int format, rm_mode mode, uint32_t *flags) {
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
  if (x * x > (double)(e + 54 + p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(negative, 1, emin - p - 64, format, mode, flags);

#if !defined(RM_CFG_NO_DD)
  const double size = x < 0.0 ? -x : x;
  if (size <= 27.36) { /* double-double; a control build leaves it out */
    const double s = (double)rm_decompose(g, &e) * 0x1p-52, factor = negative ? -s : s; /* |g| = s 2^(e+52), 1 <= s < 2 */
    double hi, lo, err;
    int undecided, k = 0;
    if (size <= RM_ERF_BACKWARD_DD_MAX) {
      rm_erf_backward_dd(factor, x, &hi, &lo, &err);
    } else { /* as there, x^2 < 749; low parts round six times by 2^-71 of the product: below 2^-68 */
      const double q = x * x, c = RM_ERF_SLOPE, m = factor * c;
      const double ml = vf64_mad(factor, RM_ERF_SLOPE_LO, vf64_mul_err(factor, c, m));
      k = rm_erfc_unscaled_dd(q, vf64_mul_err(x, x, q), m, ml, (m < 0.0 ? -m : m) * 0x1p-67, &hi, &lo, &err);
    }
    const uint64_t bits = rm_round_dd(hi, lo, err, e + 52 + k, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_erf_backward_mp_round(g, x, format, mode, flags);
}
