/* Turns convolutions into matrix products for any engine: checks their arguments and makes problems (views.h), which a runner
 * solves. */
#pragma once

#include "../../../include/repmath/convolution.h"
#include "../gemm/views.h"

typedef struct {
  rm_status (*run)(const rm_matmul_problem *p, void *context);
  void *context;
  /* Copies the rows of `groups` operands, *next bytes apart, one after the other to memory that the caller frees, and makes
   * *o and *next say so; or returns NULL with both as they were. NULL: the runner makes no such copies. */
  char *(*copy)(rm_operand *o, int size, int64_t rows, int64_t depth, int64_t groups, ptrdiff_t *next);
  /* Of the gradient with respect to w: bytes of an element of the result; 0: those of the format; -1: the runner has another
   * result, and gw is NULL. */
  int size_out;
} rm_conv_runner;

/* The arguments of a convolution, which goes from x to y, or of its gradient with respect to x, which goes from y to x. */
typedef struct {
  int format;
  const rm_conv *conv;
  const void *from;
  const ptrdiff_t *strides_from;
  const void *w;
  const ptrdiff_t *strides_w;
  const void *bias;
  ptrdiff_t stride_bias;
  void *to;
  const ptrdiff_t *strides_to;
} rm_conv_call;

/* The functions of convolution.h, by a runner; statuses name the arguments of those. */
rm_status rm_conv_sizes(const rm_conv *conv, int64_t out[3]);
rm_status rm_conv_forward_by(const rm_conv_runner *runner, const rm_conv_call *call);
rm_status rm_conv_grad_input_by(const rm_conv_runner *runner, const rm_conv_call *call);
rm_status rm_conv_grad_weight_by(const rm_conv_runner *runner, int format, const rm_conv *conv, const void *x,
                                 const ptrdiff_t *strides_x, const void *g, const ptrdiff_t *strides_g, void *gw,
                                 const ptrdiff_t *strides_gw);
