/* The accurate phase of softplus: any argument, format and rounding mode, and the common core of log_sigmoid and
 * logaddexp. */
#pragma once

#include "../exp/exp_accurate.h"
#include "softplus.h"
#include "softplus_mp.h"

/* (-1)^flip log(e^big + e^small) correctly rounded, for finite big >= small, big a number of the format.
 *
 * Neither an exact result nor a tie exists: by the theorem of Lindemann and Weierstrass, powers of e with distinct algebraic
 * exponents are linearly independent over the algebraic numbers. Were z = log(e^big + e^small) rational, e^z = e^big +
 * e^small would be such a relation: z is neither big nor small since e^small, e^big > 0, so its coefficient stays 1 when big
 * = small too. */
RM_COLD uint64_t rm_softplus_sum_accurate(int flip, double big, double small, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  const double d = big - small;
  if (big != 0.0) {
    /* 0 < log(1 + e^-d) < 2^(-1.4426 d) < 2^-55 |big|, or 2^-88 |big|. */
    int e;
    rm_decompose(big, &e); /* |big| >= 2^(e + 52) */
    if (d * 1.4426 > (double)(3 - e + rm_more_digits(mode)))
      return rm_round_beside(flip ? -big : big, big > 0.0, format, mode, flags);
  } else if (-d < (double)(emin - p - rm_more_digits(mode)) * 0.6932) { /* below half the smallest subnormal number */
    return rm_round_exact(flip, 1, emin - p - 64, format, mode, flags);
  }

#if !defined(RM_CFG_NO_DD)
  if (d <= 660.0) { /* double-double; a control build leaves it out */
    const double b = big - d, dl = (big - (d + b)) + (b - small);
    double hi, lo, err;
    int undecided;
    rm_softplus_sum_dd(big, d, dl, &hi, &lo, &err);
    const double size = vf64_abs(hi) * 0x1p-9;
    if (size > 0.0 && vf64_abs(lo) <= size && err <= size) {
      const uint64_t bits = rm_round_dd(flip ? -hi : hi, flip ? -lo : lo, err, 0, format, mode, flags, &undecided);
      if (!undecided) return bits;
    }
  } else if (big == 0.0) { /* log(1 + e^-d) = e^-d, but for 2^-953 of it */
    vi64 k;
    double rh, rl;
    int undecided;
    rm_exp_reduce_dd(small, 0.0, &k, &rh, &rl);
    const uint64_t bits = rm_exp_round_dd(flip, k, rh, rl, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_softplus_mp_round(flip, big, small, format, mode, flags);
}

/* (-1)^flip softplus(x). */
RM_FN uint64_t rm_softplus_signed_accurate(int flip, double x, int format, rm_mode mode, uint32_t *flags) {
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const uint64_t sign = flip ? rm_sign_bit(format) : 0;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == infinity) return rm_infinity_bits(format) | sign;
  if (x == -infinity) return sign;
  return x > 0.0 ? rm_softplus_sum_accurate(flip, x, 0.0, format, mode, flags)
                 : rm_softplus_sum_accurate(flip, 0.0, x, format, mode, flags);
}

RM_COLD uint64_t rm_softplus_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  return rm_softplus_signed_accurate(0, x, format, mode, flags);
}
