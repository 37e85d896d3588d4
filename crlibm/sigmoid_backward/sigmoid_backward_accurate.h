/* The accurate phase of sigmoid_backward: any arguments, format and rounding mode. */
#pragma once

#include "../sigmoid/sigmoid_product_accurate.h"

RM_COLD uint64_t rm_sigmoid_backward_accurate(double g, double x, int format, rm_mode mode, uint32_t *flags) {
  return rm_sigmoid_product_accurate(g, x, RM_SIGMOID_X, RM_SIGMOID_SLOPE, format, mode, flags);
}
