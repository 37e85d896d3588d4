/* The accurate phase of gelu: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../erfc/erfc_unscaled.h"
#include "gelu.h"
#include "gelu_mp.h"

RM_COLD uint64_t rm_gelu_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format), negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0 || x == -infinity) return sign; /* the limit at -inf is 0, approached from below */
  if (x == infinity) return rm_infinity_bits(format);
  /* |gelu(-x)| = x Phi(-x) < exp(-x^2/2) < 2^(emin-p), half the smallest subnormal number. */
  if (negative && 0.5 * x * x > (double)(p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(1, 1, emin - p - 64, format, mode, flags);
  /* x - gelu x = x Phi(-x) < 2^-54 x; from 11.2 on below 2^-94 x. */
  if (rm_is_near(-x, -8.3, -11.2, mode)) return rm_round_beside(x, 0, format, mode, flags);
  /* |2 gelu(x)/x - 1| = |erf(x/sqrt 2)| < 0.8 |x| < 2^-57; above 1 for x > 0. */
  if (rm_is_near(size, 0x1.fffffffffffffp-58, 0x1p-91, mode))
    return rm_round_beside_scaled(x, -1, negative ? -1 : 1, format, mode, flags);

  if (x >= 8.3 || size < 0x1p-57 || 0.5 * x * x > 745.0)
    return rm_gelu_mp_round(x, format, mode, flags); /* stochastic alone */
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err, w, wl, werr; /* double-double; a control build leaves it out */
  int undecided, e = 0;
  if (x >= RM_GELU_DD_MIN) {
    rm_gelu_dd(x, &hi, &lo, &err);
  } else { /* twice Phi(x) times |x|/2, as rm_gelu_dd has it; x^2/2 < 746 */
    const double m = 0.5 * size, q = m * size;
    double h, l;
    rm_ndtr_erfcx_dd(size, &w, &wl, &werr);
    e = rm_erfc_unscaled_dd(q, vf64_mul_err(m, size, q), w, wl, werr, &h, &l, &err);
    hi = m * h;
    lo = vf64_mad(m, l, vf64_mul_err(m, h, hi));
    err = vf64_mad(m, err, hi * RM_GELU_DD_ERR);
  }
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, e, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_gelu_mp_round(x, format, mode, flags);
}
