/* The accurate phase of log2: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log/log_base_accurate.h"

RM_COLD uint64_t rm_log2_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t result;
  if (rm_log_closed(x, format, flags, &result)) return result;
  int e;
  if (rm_decompose(x, &e) == UINT64_C(1) << 52) { /* x = 2^(e + 52) */
    const int k = e + 52;
    return rm_round_exact(k < 0, (rm_u128)(k < 0 ? -k : k), 0, format, mode, flags);
  }
  return rm_log_times_round(x, RM_LOG_INV_LN2, RM_LOG_INV_LN2_LO, rm_mp_inv_ln2, format, mode, flags);
}
