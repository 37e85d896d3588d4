/* The accurate phase of ndtr: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../erfc/erfc_unscaled.h"
#include "ndtr.h"
#include "ndtr_mp.h"

RM_COLD uint64_t rm_ndtr_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == infinity) return rm_one_bits(format);
  if (x == -infinity) return 0;
  /* Phi(-x) < exp(-x^2/2) < 2^(emin-p), half the smallest subnormal number. */
  if (x < 0.0 && 0.5 * x * x > (double)(p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(0, 1, emin - p - 64, format, mode, flags);
  /* 1 - Phi(x) < 2^-54; from 11.2 on below 2^-94. */
  if (rm_is_near(-x, -8.3, -11.2, mode)) return rm_round_beside(1.0, 0, format, mode, flags);
  /* |2 Phi(x) - 1| < 0.8 |x| < 2^-55; exactly 1/2 at 0. */
  if (rm_is_near(x < 0.0 ? -x : x, 0x1.fffffffffffffp-56, 0x1p-91, mode))
    return rm_round_beside_scaled(1.0, -1, (x > 0.0) - (x < 0.0), format, mode, flags);

  if (x >= 8.3 || (x > -0x1p-55 && x < 0x1p-55) || 0.5 * x * x > 745.0) /* for stochastic rounding alone */
    return rm_ndtr_mp_round(x, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err, w, wl, werr; /* double-double; a control build leaves it out */
  int undecided, e = 0;
  if (x >= RM_NDTR_DD_MIN) {
    rm_ndtr_dd(x, &hi, &lo, &err);
  } else { /* twice Phi(x); x^2/2 < 746 */
    const double m = 0.5 * x, q = m * x;
    rm_ndtr_erfcx_dd(-x, &w, &wl, &werr);
    e = rm_erfc_unscaled_dd(q, vf64_mul_err(m, x, q), w, wl, werr, &hi, &lo, &err) - 1;
  }
  const uint64_t bits = rm_round_dd(hi, lo, err, e, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_ndtr_mp_round(x, format, mode, flags);
}
