/* gelu_tanh_backward in double-double. sigmoid_product_dd.h derives the error. */
#pragma once

#include "../sigmoid/sigmoid_product_dd.h"

RM_FN void rm_gelu_tanh_backward_dd(vf64 g, vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_sigmoid_product_dd(g, x, RM_SIGMOID_CUBIC, RM_SIGMOID_SWISH, hi, lo, err);
}
