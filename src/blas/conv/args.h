/* Convolutions for any engine of matrix products: arguments checked, and made problems of (views.h) that a runner solves. */
#ifndef RM_BLAS_CONV_ARGS_H
#define RM_BLAS_CONV_ARGS_H

#include "../../../include/repmath/convolution.h"
#include "../gemm/views.h"

typedef struct {
  rm_status (*run)(const rm_matmul_problem *p, void *context);
  void *context;
  /* Copies the lines of `groups` operands, *next bytes apart, one after the other to memory that the caller frees, and makes *o and *next
   * say so; or returns NULL with both as they were. NULL: no such copies. */
  char *(*settle)(rm_operand *o, int size, int64_t lines, int64_t terms, int64_t groups, ptrdiff_t *next);
} rm_conv_runner;

/* The functions of convolution.h; statuses name the arguments of those. */
rm_status rm_conv_sizes(const rm_conv *conv, int64_t out[3]);
rm_status rm_conv_forward_job(const rm_conv_runner *runner, int format, const rm_conv *conv, const void *x,
                              const ptrdiff_t *strides_x, const void *w, const ptrdiff_t *strides_w, const void *bias,
                              ptrdiff_t stride_bias, void *y, const ptrdiff_t *strides_y);
rm_status rm_conv_grad_input_job(const rm_conv_runner *runner, int format, const rm_conv *conv, const void *g,
                                 const ptrdiff_t *strides_g, const void *w, const ptrdiff_t *strides_w, const void *bias,
                                 ptrdiff_t stride_bias, void *gx, const ptrdiff_t *strides_gx);
rm_status rm_conv_grad_weight_job(const rm_conv_runner *runner, int format, const rm_conv *conv, const void *x,
                                  const ptrdiff_t *strides_x, const void *g, const ptrdiff_t *strides_g, void *gw,
                                  const ptrdiff_t *strides_gw);

#endif
