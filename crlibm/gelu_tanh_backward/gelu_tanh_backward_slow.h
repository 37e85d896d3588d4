/* gelu_tanh_backward, complete: any arguments, format and rule. */
#ifndef RM_GELU_TANH_BACKWARD_SLOW_H
#define RM_GELU_TANH_BACKWARD_SLOW_H

#include "../sigmoid/sigmoid_product_slow.h"

RM_COLD uint64_t rm_gelu_tanh_backward_slow(double g, double x, int format, int rule, uint32_t *flags) {
  return rm_sigmoid_product_slow(g, x, RM_SIGMOID_CUBIC, RM_SIGMOID_SWISH, format, rule, flags);
}

#endif
