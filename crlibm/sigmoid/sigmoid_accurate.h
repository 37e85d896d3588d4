/* The accurate phase of sigmoid: any argument, format and rounding mode. */
#pragma once

#include "sigmoid_product_accurate.h"

RM_COLD uint64_t rm_sigmoid_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  return rm_sigmoid_product_accurate(1.0, x, RM_SIGMOID_X, RM_SIGMOID_VALUE, format, mode, flags);
}
