/* repmath: losses on a GPU: the functions of losses.h over device memory, with their arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_LOSSES_H
#define REPMATH_CUDA_LOSSES_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "losses.h"

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x,
                                         ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out,
                                         ptrdiff_t stride_out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                                  ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                                  ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx, rm_cuda_stream stream);

/* The problem is read on the host, its arrays on the device. If a target is neither a class nor ignore_index, all results
 * are NaN. */
RM_API rm_status rm_cuda_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss,
                                  rm_cuda_stream stream);
RM_API rm_status rm_cuda_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g,
                                           ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx,
                                           rm_cuda_stream stream);

RM_API rm_status rm_cuda_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                                         const void *y, ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight,
                                         const void *pos_weight, ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out,
                                         rm_cuda_stream stream);
RM_API rm_status rm_cuda_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g,
                                                  const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                                                  const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                                  ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx,
                                                  rm_cuda_stream stream);

RM_API rm_status rm_cuda_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                                ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out,
                                rm_cuda_stream stream);
RM_API rm_status rm_cuda_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                                         ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx,
                                         rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
