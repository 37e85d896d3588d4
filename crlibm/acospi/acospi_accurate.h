/* The accurate phase of acospi: any argument, format and rounding mode, for what the fast phase leaves undecided. Which
 * results are rational: asinpi_accurate.h. */
#pragma once

#include "../acos/acos_mp.h"
#include "../asinpi/asinpi_accurate.h"
#include "acospi.h"

RM_COLD uint64_t rm_acospi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x > 1.0 || x < -1.0) return rm_invalid(format, flags);
  if (x == 1.0) return 0; /* exact: +0 under every mode */
  if (x == -1.0 || x == 0.0) return rm_signed_power(0, x == 0.0 ? -1 : 0, format, mode, flags);
  /* 0 < |1/2 - acos x/pi| < |x|/3, below 2^-57 or 2^-91. */
  if (rm_is_near(x < 0.0 ? -x : x, 0x1p-56, 0x1p-90, mode)) return rm_round_beside(0.5, x < 0.0, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  rm_acospi_dd(x, &hi, &lo, &err);
  result = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return result;
#endif
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_acos_mp(v, x, n);
    rm_over_pi_mp(v, v, n);
    if (rm_mp_round(0, v, -1, rm_over_pi_mp_err(rm_asin_mp_err(n), n), n, format, mode, flags, &result)) break;
  }
  return result;
}
