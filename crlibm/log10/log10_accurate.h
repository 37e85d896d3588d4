/* The accurate phase of log10: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log/log_base_accurate.h"

RM_COLD uint64_t rm_log10_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t result;
  if (rm_log_closed(x, format, flags, &result)) return result;
  double power = 10.0;
  for (int k = 1; k <= 22; k++, power *= 10.0) /* 10^22 is the last power of ten among the doubles; 10^-k is none */
    if (x == power) return rm_round_exact(0, (rm_u128)k, 0, format, mode, flags);
  return rm_log_times_round(x, RM_LOG_INV_LN10, RM_LOG_INV_LN10_LO, rm_mp_inv_ln10, format, mode, flags);
}
