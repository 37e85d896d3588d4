/* The accurate phase of cospi: any argument, format and rounding mode, for what the fast phase leaves undecided. Which
 * results are rational: sinpi_accurate.h. */
#pragma once

#include "../sinpi/sinpi_accurate.h"
#include "cospi.h"

RM_COLD uint64_t rm_cospi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t special;
  int k;
  if (rm_special_periodic(x, rm_one_bits(format), format, flags, &special)) return special;
  const double a = rm_sinpi_part(x);
  if (rm_sinpi_is_whole(2.0 * a, &k)) return k & 1 ? 0 : rm_one_bits(format) | rm_signed_zero(k >> 1, format);
  /* 0 < 1 - cos(pi a) < 5 a^2, below 2^-55 or 2^-89. */
  if (rm_is_near(a, 0x1.fffffffffffffp-30, 0x1p-46, mode)) return rm_round_beside(1.0, 0, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  rm_cospi_dd(a, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_sinpi_mp_round(a, 1, 0, format, mode, flags);
}
