/* The accurate phase of gelu_backward: any arguments, format and rounding mode, for what the fast phase leaves undecided.
 *
 * At an infinite x the result is the product with the limit of gelu', by IEEE 754: gelu'(+inf) = 1, and gelu'(-inf) = -0,
 * which is approached from below. Infinity times -0 is invalid. */
#pragma once

#include "gelu_backward.h"
#include "gelu_backward_mp.h"

RM_COLD uint64_t rm_gelu_backward_accurate(double g, double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(g) || rm_is_nan(x)) return rm_nan_bits(format);
  const int negative = (int)(rm_bits64(g) >> 63) ^ (x <= -RM_GELU_SLOPE_ZERO);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  if (g == infinity || g == -infinity) {
    if (x != -infinity) return rm_infinity_bits(format) | sign;
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (g == 0.0 || x == -infinity) return sign;
  if (x == infinity) return rm_round_beside_scaled(g, 0, 0, format, mode, flags);
  /* gelu' x = 1/2 (1 + 1.6 x ...). */
  if (rm_is_near(size, 0x1.fffffffffffffp-58, 0x1p-91, mode))
    return rm_round_beside_scaled(g, -1, x > 0.0 ? 1 : x < 0.0 ? -1 : 0, format, mode, flags);
  /* 0 < gelu' x - 1 < x phi(x) < 2^-56; from 11.6 on below 2^-94. */
  if (rm_is_near(-x, -9.0, -11.6, mode)) return rm_round_beside(g, 1, format, mode, flags);
  if (x >= 9.0 || size < 0x1p-57) return rm_gelu_backward_mp_round(g, x, format, mode, flags); /* stochastic alone */
  int e;
  rm_decompose(g, &e);
  /* |gelu' x| < |x| phi(x) < 2^5 exp(-x^2/2) for -64 < x < -1. Below -64 the second bound is beyond all formats. */
  if (x < -1.0 && 0.5 * x * x > (double)(e + 58 + p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(negative, 1, emin - p - 64, format, mode, flags);

#if !defined(RM_CFG_NO_DD)
  if (x >= RM_GELU_BACKWARD_DD_MIN) { /* double-double; a control build leaves it out */
    const double s = (double)rm_decompose(g, &e) * 0x1p-52; /* |g| = s 2^(e+52), 1 <= s < 2 */
    double hi, lo, err;
    int undecided;
    rm_gelu_backward_dd(g < 0.0 ? -s : s, x, &hi, &lo, &err);
    const double limit = (hi < 0.0 ? -hi : hi) * 0x1p-9;
    if (err < limit && lo < limit && -lo < limit) {
      const uint64_t bits = rm_round_dd(hi, lo, err, e + 52, format, mode, flags, &undecided);
      if (!undecided) return bits;
    }
  }
#endif
  return rm_gelu_backward_mp_round(g, x, format, mode, flags);
}
