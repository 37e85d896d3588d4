/* The functions made of the sigmoid: a factor g times one of the shapes
 *   RM_SIGMOID_VALUE  sigmoid(t)            1/(1+w) for x > 0, w/(1+w) for x < 0
 *   RM_SIGMOID_SLOPE  sigmoid'(t)           w/(1+w)^2
 *   RM_SIGMOID_SWISH  (x sigmoid(t(x)))'    (1+w + p w)/(1+w)^2 for x > 0, w (1+w - p)/(1+w)^2 for x < 0
 * of an argument t = x, 2x, or c (x + 0.044715 x^3), c = sqrt(8/pi), that of gelu_tanh; w = exp(-|t|), p = |x t'(x)|.
 *
 *   sigmoid, silu, softplus_backward    1, x, g times the value at x         log_sigmoid_backward   g times the value at -x
 *   gelu_tanh                           x times the value at the cubic       sigmoid_backward       g times the slope at x
 *   tanh_backward                       4 g times the slope at 2x            silu_backward, gelu_tanh_backward    g times the
 *                                                                            swish */
#pragma once

#include "sigmoid_tables.h"

enum { RM_SIGMOID_VALUE, RM_SIGMOID_SLOPE, RM_SIGMOID_SWISH };
enum { RM_SIGMOID_X, RM_SIGMOID_2X, RM_SIGMOID_CUBIC };

/* Below it the derivative of x sigmoid(t(x)) is negative, from here on positive. */
RM_FN double rm_sigmoid_swish_zero(int argument) {
  return argument == RM_SIGMOID_CUBIC ? RM_SIGMOID_GELU_TANH_ZERO : RM_SIGMOID_SILU_ZERO;
}
