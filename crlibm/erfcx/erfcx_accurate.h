/* The accurate phase of erfcx: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../exp/exp_accurate.h"
#include "../fp/exact.h"
#include "erfcx.h"
#include "erfcx_mp.h"

RM_COLD uint64_t rm_erfcx_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (rm_is_infinite(x)) return x > 0.0 ? 0 : rm_infinity_bits(format);
  if (x == 0.0) return rm_one_bits(format);
  /* erfcx x > exp(x^2) > 2^(emax+1). */
  if (x < 0.0 && x * x > (double)(rm_emax(format) + 1) * 0.6932) return rm_overflow(0, format, mode, flags);
  /* |erfcx x - 1| < 1.13 |x| < 2^-54. */
  if (rm_is_near(x < 0.0 ? -x : x, 0x1.fffffffffffffp-56, 0x1p-91, mode))
    return rm_round_beside(1.0, x < 0.0, format, mode, flags);
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  double hi, lo, err, z = x;
  int undecided, e = 0;
  if (x < RM_ERFCX_DD_MIN) { /* 2 exp(x^2), but for 2^-950 of it; x^2 < 710 */
    const double q = x * x;
    vi64 k;
    double rh, rl;
    rm_exp_reduce_dd(q, vf64_mul_err(x, x, q), &k, &rh, &rl);
    const uint64_t bits = rm_exp_round_dd(0, vi64_add(k, vi64_set1(16)), rh, rl, format, mode, flags, &undecided);
    if (!undecided) return bits;
  } else {
    while (z > 0x1p500) { /* there it is 1/(sqrt(pi) x), but for 2^-101 of it at z > 2^50 */
      z *= 0x1p-450;
      e -= 450;
    }
    if (x > RM_ERFCX_DD_MAX) rm_erfcx_far_dd(z, 0, &hi, &lo, &err);
    else rm_erfcx_dd(x, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(hi, lo, err, e, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_erfcx_mp_round(x, format, mode, flags);
}
