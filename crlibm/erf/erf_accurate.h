/* The accurate phase of erf: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "erf.h"
#include "../erfc/erfc_mp.h"
#include "erf_mp.h"

/* erf(x) correctly rounded, for 5.9 <= |x| < 32: 1 - erfc |x|, one unit more off than that. */
RM_COLD uint64_t rm_erf_mp_round_large(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], one[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_erfc_mp(v, vf64_abs(x), 0, n, &err);
    rm_mp_shift_down(v, v, -k, n);
    rm_mp_set(one, 1, n);
    rm_mp_sub(v, one, v, n);
    if (rm_mp_round(rm_is_negative(x), v, 0, err + 1, n, format, mode, flags, &result)) break;
  }
  return result;
}

RM_COLD uint64_t rm_erf_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = vf64_abs(x);
  uint64_t special;
  if (rm_special_saturating(x, format, &special)) return special;
  /* 1 - erf x < exp(-x^2)/(x sqrt(pi)); at 5.9375 that is 2^-50.86/10.52 < 2^-54.2. Half an ulp below 1 is 2^-54. It
   * is below 2^-93 from 7.9 on. */
  if (rm_is_near(-size, -5.9375, -7.9, mode)) return rm_round_beside(negative ? -1.0 : 1.0, 0, format, mode, flags);
  if (size >= 5.9375) return rm_erf_mp_round_large(x, format, mode, flags); /* for stochastic rounding alone */

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
