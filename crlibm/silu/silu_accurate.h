/* The accurate phase of silu: any argument, format and rounding mode. */
#pragma once

#include "../sigmoid/sigmoid_product_accurate.h"

/* silu(-inf) = -0, the limit from below. */
RM_COLD uint64_t rm_silu_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (x == rm_from_bits64(UINT64_C(0xfff0000000000000))) return rm_sign_bit(format);
  return rm_sigmoid_product_accurate(x, x, RM_SIGMOID_X, RM_SIGMOID_VALUE, format, mode, flags);
}
