/* The accurate phase of asinpi: any argument, format and rounding mode, for what the fast phase leaves undecided. Also what
 * acospi and atanpi share with it.
 *
 * If asin x/pi is rational for a rational x, then x is 0, +-1/2 or +-1 by Niven's theorem (sinpi_accurate.h), and that of
 * +-1/2 is +-1/6, no boundary of rounding. acos x/pi is 1/2 - asin x/pi. atan x/pi is rational only for x = 0 and +-1. */
#pragma once

#include "../fp/exact.h"
#include "asinpi.h"
#include "asinpi_mp.h"

/* +-2^e, e <= 0. */
RM_FN uint64_t rm_signed_power(int negative, int e, int format, rm_mode mode, uint32_t *flags) {
  return rm_round_exact(negative, 1, e, format, mode, flags);
}

/* asin x/pi correctly rounded, for 0 < |x| < 1. */
RM_COLD uint64_t rm_asinpi_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  const int tiny = -0x1p-30 < x && x < 0x1p-30;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int e = 0;
    uint64_t err = rm_asin_mp_err(n);
    if (tiny) {
      e = rm_angle_mp_tiny(v, x, 1, n);
      err = 2 * (uint64_t)(n + 2) * (uint64_t)(n + 5);
    } else rm_asin_mp(v, x, n);
    rm_over_pi_mp(v, v, n);
    if (rm_mp_round(x < 0.0, v, e - 1, rm_over_pi_mp_err(err, n), n, format, mode, flags, &result)) break;
  }
  return result;
}

RM_COLD uint64_t rm_asinpi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = negative ? -x : x;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size > 1.0) return rm_invalid(format, flags);
  if (size == 0.0) return rm_signed_zero(negative, format);
  if (size == 1.0) return rm_signed_power(negative, -1, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  /* A tiny x is scaled; asin x is x then, and so with 2^200 x, but for less than 2^-1000 of it. */
  const int shift = size < 0x1p-900 ? 200 : 0;
  rm_asinpi_dd(size * rm_pow2(shift), &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, -shift, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_asinpi_mp_round(x, format, mode, flags);
}
