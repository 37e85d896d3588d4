/* The accurate phase of erfinv: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "erfinv.h"
#include "erfinv_mp.h"

RM_COLD uint64_t rm_erfinv_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double u = negative ? -x : x;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (u > 1.0) return rm_invalid(format, flags);
  if (u == 1.0) return rm_pole(negative, format, flags);
  if (u == 0.0) return rm_signed_zero(negative, format);
#if !defined(RM_CFG_NO_DD)
  if (u < RM_ERFINV_DD_MIN) {
    /* Double-double; a control build leaves it out. erfinv is sqrt(pi)/2 x (1 + pi x^2/12 + ...): here it is 2^k times that
     * of an argument near 2^-548, but for 2^-1095 of it, which the bound of rm_erfinv_dd has room for. */
    double hi, lo, err;
    int undecided, e;
    const double scaled = (double)rm_decompose(x, &e) * 0x1p-600;
    rm_erfinv_dd(scaled, &hi, &lo, &err);
    const uint64_t bits =
        rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, e + 600, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  double vl;
  const double v = rm_erfinv_one_less(u, &vl);
  struct rm_erfinv_target target = {0, 0, u > 0.5, 0}; /* where v is exact */
  target.m = rm_decompose(target.tail ? v : u, &target.e);
  return rm_erfinv_complete(&target, negative, u, 0.0, v, vl, format, mode, flags);
}
