/* cos, complete: any argument, format and rule. Called for the arguments that a fast kernel leaves undecided. */
#ifndef RM_COS_ACCURATE_H
#define RM_COS_ACCURATE_H

#include "../sin/sin_accurate.h"
#include "cos.h"

RM_COLD uint64_t rm_cos_accurate(double x, int format, int rule, uint32_t *flags) {
  const double size = vf64_abs(x);
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (size == 0.0) return rm_one_bits(format); /* exact */
  /* 0 < 1 - cos x < x^2/2 < 2^-55. */
  if (size < 0x1p-27) return rm_round_beside(1.0, 0, format, rule, flags);
  return rm_sin_accurate_turned(x, 1, 0, format, rule, flags);
}

#endif
