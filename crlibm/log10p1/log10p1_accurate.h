/* The accurate phase of log10p1: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log2p1/log2p1_accurate.h"
#include "log10p1.h"

RM_COLD uint64_t rm_log10p1_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  if (rm_log2p1_closed(x, format, flags, &bits)) return bits;
  double power = 10.0;
  for (int k = 1; k <= 15; k++, power *= 10.0) /* 10^15 - 1 is the last such number among the doubles; 10^-k - 1 is none */
    if (x == power - 1.0) return rm_round_exact(0, (rm_u128)k, 0, format, mode, flags);
  const struct rm_log2p1_base base = {RM_LOG_INV_LN10, RM_LOG_INV_LN10_LO, rm_mp_inv_ln10};
  return rm_log2p1_round(x, base, format, mode, flags);
}
