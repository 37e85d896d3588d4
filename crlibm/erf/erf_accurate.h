/* erf, complete: any argument, format and rule. Called for the arguments that a fast kernel leaves undecided. */
#ifndef RM_ERF_ACCURATE_H
#define RM_ERF_ACCURATE_H

#include "erf.h"
#include "erf_mp.h"

RM_COLD uint64_t rm_erf_accurate(double x, int format, int rule, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return sign;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_one_bits(format) | sign;
  /* 1 - erf x < exp(-x^2)/(x sqrt(pi)); at 5.9375 that is 2^-50.86/10.52 < 2^-54.2. Half an ulp below 1 is 2^-54. */
  if (size >= 5.9375) return rm_round_beside(negative ? -1.0 : 1.0, 0, format, rule, flags);

#if !defined(RM_CFG_NO_DD)
  if (!rm_erf_special(x, RM_F64)) { /* double-double; a control build leaves it out */
    double hi, lo, err;
    int undecided;
    rm_erf_dd(size, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, rule, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_erf_mp_round(x, format, rule, flags);
}

#endif
