/* The accurate phase of log_ndtr: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../erfc/erfc_unscaled.h"
#include "../fp/exact.h"
#include "log_ndtr.h"
#include "log_ndtr_mp.h"

RM_COLD uint64_t rm_log_ndtr_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (rm_is_infinite(x)) return (x > 0.0 ? 0 : rm_infinity_bits(format)) | rm_sign_bit(format); /* -0, the limit from below */
  /* -log(1 - v) < 2v for v = Phi(-x) < exp(-x^2/2)/2; exp(-x^2/2) < 2^(emin-p), half the smallest subnormal number. */
  if (x > 0.0 && 0.5 * x * x > (double)(p - emin + rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(1, 1, emin - p - 64, format, mode, flags);
  if (x < -0x1p68) { /* -x^2/2 less log(|x| sqrt(2 pi)) < 712, but for less than 1: less than 2^11, one unit */
    int e;
    const rm_u128 m = rm_decompose(x, &e);
    return rm_round_exact(1, (m * m << 20) + 1, 2 * (int64_t)e - 21, format, mode, flags);
  }
  /* log(1/2) + sqrt(2/pi) x + ...: between -log 2 - 2^-120 and -log 2 + 2^-120 there is no boundary of rounding. */
  if (x < 0x1p-120 && x > -0x1p-120) x = x < 0.0 ? -0x1p-120 : 0x1p-120;
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  double hi, lo, err, w, wl, werr;
  int undecided = 0, e = 0;
  if (x < RM_LOG_NDTR_DD_MIN) {
    rm_log_ndtr_far_dd(x, &hi, &lo, &err);
  } else if (x <= RM_LOG_NDTR_DD_MAX) {
    rm_log_ndtr_dd(x, &hi, &lo, &err);
  } else if (0.5 * x * x <= 745.0) { /* -Phi(-x), but for 2^-950 of it: half of what follows */
    const double m = 0.5 * x, q = m * x;
    rm_ndtr_erfcx_dd(x, &w, &wl, &werr);
    e = rm_erfc_unscaled_dd(q, vf64_mul_err(m, x, q), w, wl, werr, &hi, &lo, &err) - 1;
    hi = -hi, lo = -lo;
  } else { /* for stochastic rounding alone */
    undecided = 1;
  }
  if (!undecided) {
    const uint64_t bits = rm_round_dd(hi, lo, err, e, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_log_ndtr_mp_round(x, format, mode, flags);
}
