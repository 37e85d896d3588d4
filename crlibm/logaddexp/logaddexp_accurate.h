/* The accurate phase of logaddexp: any arguments, format and rounding mode. */
#pragma once

#include "../softplus/softplus_accurate.h"
#include "logaddexp.h"

RM_COLD uint64_t rm_logaddexp_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const double big = x > y ? x : y, small = x > y ? y : x;
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (big == infinity) return rm_infinity_bits(format);
  if (big == -infinity) return rm_infinity_bits(format) | rm_sign_bit(format);
  if (small == -infinity) { /* exactly big; log 1 = +0 */
    int e;
    if (big == 0.0) return 0;
    const uint64_t m = rm_decompose(big, &e);
    return rm_round_exact(big < 0.0, m, e, format, mode, flags);
  }
  return rm_softplus_sum_accurate(0, big, small, format, mode, flags);
}
