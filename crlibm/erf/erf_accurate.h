/* The accurate phase of erf: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "erf.h"
#include "erf_mp.h"

RM_COLD uint64_t rm_erf_accurate(double x, int format, int mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = vf64_abs(x);
  uint64_t special;
  if (rm_special_saturating(x, format, &special)) return special;
  /* 1 - erf x < exp(-x^2)/(x sqrt(pi)); at 5.9375 that is 2^-50.86/10.52 < 2^-54.2. Half an ulp below 1 is 2^-54. */
  if (size >= 5.9375) return rm_round_beside(negative ? -1.0 : 1.0, 0, format, mode, flags);

#if !defined(RM_CFG_NO_DD)
  /* Double-double; a control build leaves it out. erf is 2/sqrt(pi) x (1 - x^2/3 + ...): of an |x| below 2^-960 it is 2^k
   * times that of an argument near 2^-548, but for 2^-1094 of it, which the bound of rm_erf_dd has room for. */
  double hi, lo, err, scaled = size;
  int undecided, e, k = 0;
  if (rm_erf_special(x, RM_F64)) {
    scaled = (double)rm_decompose(x, &e) * 0x1p-600;
    k = e + 600;
  }
  rm_erf_dd(scaled, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, k, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_erf_mp_round(x, format, mode, flags);
}
