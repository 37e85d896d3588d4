/* The accurate phase of erfc: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "erfc.h"
#include "erfc_mp.h"
#include "erfc_unscaled.h"

RM_COLD uint64_t rm_erfc_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == infinity) return 0;
  if (x == -infinity) return rm_one_bits(format) + (UINT64_C(1) << (p - 1)); /* 2 */
  if (x == 0.0) return rm_one_bits(format);
  /* erfc x < exp(-x^2) < 2^(emin-p), half the smallest subnormal number. */
  if (x > 0.0 && x * x > (double)(p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(0, 1, emin - p - 64, format, mode, flags);
  /* 2 - erfc x = erfc(-x) < 2^-54.2 (erf_accurate.h); half an ulp below 2 is 2^-53. Below 2^-92 from -7.9 on. */
  if (rm_is_near(x, -5.9375, -7.9, mode)) return rm_round_beside(2.0, 0, format, mode, flags);
  /* |erfc x - 1| < 1.13 |x| < 2^-54. */
  if (rm_is_near(x < 0.0 ? -x : x, 0x1.fffffffffffffp-56, 0x1p-91, mode))
    return rm_round_beside(1.0, x < 0.0, format, mode, flags);
  if (x <= -5.9375 || (x > -0x1p-55 && x < 0x1p-55) || x * x > 745.0) /* for stochastic rounding alone */
    return rm_erfc_mp_round(x, format, mode, flags);

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err, w, wl, werr; /* double-double; a control build leaves it out */
  int undecided, e = 0;
  if (x <= RM_ERFC_DD_MAX) {
    rm_erfc_dd(x, &hi, &lo, &err);
  } else { /* x^2 < 746 */
    const double q = x * x;
    rm_erfc_w_dd(x, &w, &wl, &werr);
    e = rm_erfc_unscaled_dd(q, vf64_mul_err(x, x, q), w, wl, werr, &hi, &lo, &err);
  }
  const uint64_t bits = rm_round_dd(hi, lo, err, e, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_erfc_mp_round(x, format, mode, flags);
}
