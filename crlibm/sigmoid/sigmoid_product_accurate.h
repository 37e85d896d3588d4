/* The accurate phase of a factor times the sigmoid or a related function (sigmoid_shapes.h): any arguments, format and
 * rounding mode. */
#pragma once

#include "../erfc/erfc_unscaled.h"
#include "sigmoid_product_dd.h"
#include "sigmoid_mp.h"

/* g 2^shift (1 + a hair of the sign of `hair`, or of none when that is 0), g finite and not 0: the hair is below 2^-54, and
 * below 2^-88 under stochastic rounding, so that no boundary of rounding lies between (rm_round_exact). */
RM_FN uint64_t rm_sigmoid_beside(double g, int shift, int hair, int format, rm_mode mode, uint32_t *flags) {
  int e;
  const rm_u128 m = (rm_u128)rm_decompose(g, &e) << 60;
  const int negative = (int)(rm_bits64(g) >> 63);
  return rm_round_exact(negative, hair > 0 ? m + 1 : hair < 0 ? m - 1 : m, e - 60 + shift, format, mode, flags);
}

/* g f(x) rounded, f of the given argument and shape; RM_SIGMOID_2X has its derivative too: 4 times the slope, that is tanh'.
 *
 * Products with the limits of f as IEEE 754 has them: f(+inf) = 1 and f(-inf) = +0, but -0 for the swish shape, which
 * approaches 0 from below; the slope's limits are +0. A product of infinity and such a 0 is invalid. */
RM_COLD uint64_t rm_sigmoid_product_accurate(double g, double x, int argument, int shape, int format, rm_mode mode,
                                             uint32_t *flags) {
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  const int four = argument == RM_SIGMOID_2X ? 2 : 0;
  if (rm_is_nan(g) || rm_is_nan(x)) return rm_nan_bits(format);
  const int f_negative = shape == RM_SIGMOID_SWISH && x < rm_sigmoid_swish_zero(argument);
  const int negative = (int)(rm_bits64(g) >> 63) ^ f_negative;
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const int vanishes = size == infinity && (x < 0.0 || shape == RM_SIGMOID_SLOPE); /* f is 0 */
  if (g == infinity || g == -infinity) {
    if (!vanishes) return rm_infinity_bits(format) | sign;
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (g == 0.0 || vanishes) return sign;
  if (size == infinity) return rm_sigmoid_beside(g, 0, 0, format, mode, flags);
  /* f(0) is 1/2, the slope 1/4. f(x) is f(0) (1 + t/2), (1 + 2 t'(0) x/2), (1 - t^2/4) up to terms of higher order. */
  const int half = shape == RM_SIGMOID_SLOPE ? four - 2 : -1;
  const double least = shape == RM_SIGMOID_SLOPE ? 0x1p-29 : 0x1p-57;
  if (size < least && rm_is_near(size, 1.0, shape == RM_SIGMOID_SLOPE ? 0x1p-47 : 0x1p-91, mode))
    return rm_sigmoid_beside(g, half, size == 0.0 ? 0 : x > 0.0 && shape != RM_SIGMOID_SLOPE ? 1 : -1, format, mode, flags);

  const double t = argument == RM_SIGMOID_X    ? size
                   : argument == RM_SIGMOID_2X ? 2.0 * size
                                               : 0x1.9884533d43651p+0 * size * (1.0 + 0.044715 * size * size);
  if (x > 0.0 && shape != RM_SIGMOID_SLOPE) {
    /* 0 < 1 - sigmoid(t) < e^-t, 2^-54.8 at 38, 2^-90.8 at 63; 0 < f - 1 < p e^-t with p <= 3t, 2^-57.8 at 45, 2^-93 at
     * 70. */
    if (shape == RM_SIGMOID_VALUE && rm_is_near(-t, -0x1.3000000000001p+5, -63.0, mode))
      return rm_sigmoid_beside(g, 0, -1, format, mode, flags);
    if (shape == RM_SIGMOID_SWISH && rm_is_near(-t, -0x1.6800000000001p+5, -70.0, mode))
      return rm_sigmoid_beside(g, 0, 1, format, mode, flags);
  } else if (t > 1500.0) { /* |g f| < 2^1024 4 (1 + p) e^-t < 2^-1124: below 2^-34 of the smallest number of every format */
    return rm_round_exact(negative, 1, rm_emin(format) - rm_precision(format) - 64, format, mode, flags);
  }

  if (size < least || (x > 0.0 && shape != RM_SIGMOID_SLOPE && t > (shape == RM_SIGMOID_VALUE ? 38.0 : 45.0)))
    return rm_sigmoid_mp_round(g, four, x, argument, shape, format, mode, flags); /* for stochastic rounding alone */
#if !defined(RM_CFG_NO_DD) /* double-double, of g's significand; a control build leaves it out */
  double hi, lo, err;
  int e, k, undecided;
  const double m = (double)rm_decompose(g, &e) * 0x1p-52;
  if (t >= 669.0 && t <= 749.0 && argument <= RM_SIGMOID_2X && (x < 0.0 || shape == RM_SIGMOID_SLOPE)) {
    /* f = p e^-t, p = 1, or 1 - t for the swish shape, but for 2^-960 of it. Low parts round six times by 2^-71 of the
     * product: below 2^-68. */
    const double p = shape == RM_SIGMOID_SWISH ? 1.0 - t : 1.0, pl = shape == RM_SIGMOID_SWISH ? 1.0 - (p + t) : 0.0;
    const double factor = g < 0.0 ? -m : m;
    double h, l;
    k = rm_erfc_unscaled_dd(t, 0.0, p, pl, (p < 0.0 ? -p : p) * 0x1p-67, &h, &l, &err);
    hi = factor * h;
    lo = vf64_mad(factor, l, vf64_mul_err(factor, h, hi));
    err = m * err;
    const uint64_t bits = rm_round_dd(hi, lo, err, e + 52 + four + k, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
  if (x > 0.0 || t < 669.0) {
    rm_sigmoid_product_dd(g < 0.0 ? -m : m, x, argument, shape, &hi, &lo, &err);
    const double limit = (hi < 0.0 ? -hi : hi) * 0x1p-9;
    if (err < limit && lo < limit && -lo < limit) {
      const uint64_t bits = rm_round_dd(hi, lo, err, e + 52 + four, format, mode, flags, &undecided);
      if (!undecided) return bits;
    }
  }
#endif
  return rm_sigmoid_mp_round(g, four, x, argument, shape, format, mode, flags);
}
