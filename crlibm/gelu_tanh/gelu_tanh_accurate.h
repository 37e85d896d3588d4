/* The accurate phase of gelu_tanh: any argument, format and rounding mode. */
#pragma once

#include "../sigmoid/sigmoid_product_accurate.h"

/* gelu_tanh(-inf) = -0, the limit from below. */
RM_COLD uint64_t rm_gelu_tanh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (x == rm_from_bits64(UINT64_C(0xfff0000000000000))) return rm_sign_bit(format);
  return rm_sigmoid_product_accurate(x, x, RM_SIGMOID_CUBIC, RM_SIGMOID_VALUE, format, mode, flags);
}
