/* The accurate phase of cosh: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "cosh.h"
#include "../sinh/sinh_accurate.h"

RM_COLD uint64_t rm_cosh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return rm_one_bits(format);
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_infinity_bits(format);
  /* ln2 < 0.6932: e^|x|/2 > 2^(emax+1). */
  if (size > (double)(rm_emax(format) + 2) * 0.6932) return rm_overflow(0, format, mode, flags);
  /* 0 < cosh x - 1 < x^2/2 (1 + x^2) < 2^-54. */
  if (rm_is_near(size, 0x1.fffffffffffffp-28, 0x1p-45, mode)) return rm_round_beside(1.0, 1, format, mode, flags);
  if (size < 0x1p-27) return rm_sinh_cosh_mp_round(x, 1, format, mode, flags); /* stochastic rounding tells the two apart */
  return rm_sinh_cosh_round(x, 1, format, mode, flags);
}
