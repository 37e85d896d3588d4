/* tan, complete: any argument, format and rule. Called for the arguments that a fast kernel leaves undecided. */
#ifndef RM_TAN_ACCURATE_H
#define RM_TAN_ACCURATE_H

#include "../sin/sin_accurate.h"
#include "tan.h"
#include "tan_mp.h"

RM_COLD uint64_t rm_tan_accurate(double x, int format, int rule, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const double size = vf64_abs(x);
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (size == 0.0) return negative ? rm_sign_bit(format) : 0;
  /* 0 < tan |x| - |x| < 0.34 |x|^3 < 2^-55 |x|. */
  if (size < 0x1p-27) return rm_round_beside(x, 1, format, rule, flags);

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  int64_t k;
  double rh, rl, err, hi, lo;
  int undecided;
  rm_sin_reduce_any(size, &k, &rh, &rl, &err);
  rm_tan_reduced_dd(k, rh, rl, err, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, rule, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_tan_mp_round(x, format, rule, flags);
}

#endif
