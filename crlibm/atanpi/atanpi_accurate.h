/* The accurate phase of atanpi: any argument, format and rounding mode, for what the fast phase leaves undecided. Which
 * results are rational: asinpi_accurate.h. */
#pragma once

#include "../asinpi/asinpi_accurate.h"
#include "../atan/atan_mp.h"
#include "atanpi.h"

/* atan x/pi correctly rounded, for finite x other than 0 and +-1. */
RM_COLD uint64_t rm_atanpi_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  const int tiny = -0x1p-30 < x && x < 0x1p-30;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int e = 0;
    uint64_t err = rm_atan_mp_err(n, 1);
    if (tiny) {
      e = rm_angle_mp_tiny(v, x, 0, n);
      err = 2 * (uint64_t)(n + 2) * (uint64_t)(n + 5);
    } else rm_atan_mp_direction(v, x, 1.0, n);
    rm_over_pi_mp(v, v, n);
    if (rm_mp_round(x < 0.0, v, e - 1, rm_over_pi_mp_err(err, n), n, format, mode, flags, &result)) break;
  }
  return result;
}

RM_COLD uint64_t rm_atanpi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = negative ? -x : x;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return rm_signed_zero(negative, format);
  if (size == 1.0 || rm_is_infinite(x)) return rm_signed_power(negative, size == 1.0 ? -2 : -1, format, mode, flags);
  /* 0 < 1/2 - atan |x|/pi < 1/(3 |x|), below 2^-61 or 2^-91. */
  if (rm_is_near(1.0 / size, 0x1p-60, 0x1p-90, mode)) return rm_round_beside(negative ? -0.5 : 0.5, 0, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  const int shift = size < 0x1p-900 ? 200 : 0; /* as in asinpi_accurate.h */
  rm_atanpi_dd(size * rm_pow2(shift), &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, -shift, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_atanpi_mp_round(x, format, mode, flags);
}
