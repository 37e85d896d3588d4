/* repmath: composite operators on a GPU: the functions of nn.h over device memory, with their arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_NN_H
#define REPMATH_CUDA_NN_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "nn.h"

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                                 ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                     void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                   void *y, ptrdiff_t stride_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                          const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                          ptrdiff_t stride_dx, rm_cuda_stream stream);
RM_API rm_status rm_cuda_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                              ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                                              ptrdiff_t row_dx, ptrdiff_t stride_dx, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
