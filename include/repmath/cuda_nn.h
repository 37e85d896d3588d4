/* repmath: composite operators on a GPU: the functions of nn.h over device memory, with their arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_NN_H
#define REPMATH_CUDA_NN_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "nn.h"

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                 void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                     void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                   void *y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                          ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                                          ptrdiff_t row_dx, ptrdiff_t stride_dx, rm_cuda_stream stream);
RM_API rm_status rm_cuda_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                              ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y,
                                              void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx, rm_cuda_stream stream);

/* The strides, like `sets`, are read on the host, before the function returns. */
RM_API rm_status rm_cuda_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                                   const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean,
                                   const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv, double eps, void *y,
                                   const ptrdiff_t *sy, rm_cuda_stream stream);
RM_API rm_status rm_cuda_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                            const void *x, const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw,
                                            const void *mean, const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv,
                                            double eps, void *dx, const ptrdiff_t *sdx, rm_cuda_stream stream);

RM_API rm_status rm_cuda_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                                   const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                                   const void *variance, const ptrdiff_t *sv, double eps, void *dw,
                                                   const ptrdiff_t *sdw, rm_cuda_stream stream);

/* Statistics of the sets of x, each in an array of one element a set, one after the other, or NULL: RN(mean) and
 * RN(1/sqrt(variance + eps)) in the format of x, and of a batch norm the running statistics, which become RN((1 - momentum) r
 * + momentum s), s the set's mean, or its variance with n - 1, for which a set has two elements at least. A set with a number
 * that is not finite has NaN; a running statistic that is not finite stays as it is beside one of finite numbers.
 * RM_ERR_SIZE, RM_ERR_RANGE and RM_ERR_OVERLAP as of rm_normalize_with_statistics. */
RM_API rm_status rm_cuda_norm_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, double eps,
                                         void *mean, void *root, double momentum, int running_format, void *running_mean,
                                         void *running_variance, rm_cuda_stream stream);

/* The problem is read on the host, its arrays on the device. If a target is neither a class nor ignore_index, all results
 * are NaN. */
RM_API rm_status rm_cuda_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss,
                                       rm_cuda_stream stream);
RM_API rm_status rm_cuda_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g,
                                                ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx,
                                                rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
