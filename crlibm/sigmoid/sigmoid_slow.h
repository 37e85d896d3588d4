/* sigmoid, complete: any argument, format and rule. */
#ifndef RM_SIGMOID_SLOW_H
#define RM_SIGMOID_SLOW_H

#include "sigmoid_product_slow.h"

RM_COLD uint64_t rm_sigmoid_slow(double x, int format, int rule, uint32_t *flags) {
  return rm_sigmoid_product_slow(1.0, x, RM_SIGMOID_X, RM_SIGMOID_VALUE, format, rule, flags);
}

#endif
