/* tanh, complete: any argument, format and rule. Called for the arguments that a fast kernel leaves undecided. */
#ifndef RM_TANH_ACCURATE_H
#define RM_TANH_ACCURATE_H

#include "tanh.h"
#include "tanh_mp.h"

RM_COLD uint64_t rm_tanh_accurate(double x, int format, int rule, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const uint64_t sign = negative ? rm_sign_bit(format) : 0;
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return sign;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_one_bits(format) | sign;
  /* 1 - tanh x = 2/(exp(2x) + 1) < 2 exp(-2x) < 2^-(p+1), half an ulp below 1, from x > (p+2) ln2/2 on; ln2/2 < 0.3466. */
  if (size > (double)(rm_precision(format) + 2) * 0.3466)
    return rm_round_beside(negative ? -1.0 : 1.0, 0, format, rule, flags);
  /* 0 < x - tanh x < x^3/3 <= 2^-55.5 x (alternating series). */
  if (size <= 0x1p-27) return rm_round_beside(x, 0, format, rule, flags);

#if !defined(RM_CFG_NO_DD)
  if (!rm_tanh_special(x, RM_F64)) { /* double-double; a control build leaves it out */
    double hi, lo, err;
    int undecided;
    rm_tanh_dd(size, &hi, &lo, &err);
    const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, rule, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  return rm_tanh_mp_round(x, format, rule, flags);
}

#endif
