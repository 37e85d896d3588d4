/* repmath: pooling on a GPU: the functions of pooling.h over device memory, with their arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_POOLING_H
#define REPMATH_CUDA_POOLING_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "pooling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The strides, like `pool`, are read on the host, before the function returns. */
RM_API rm_status rm_cuda_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                                  const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index,
                                  rm_cuda_stream stream);
RM_API rm_status rm_cuda_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                                  const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                                           const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx,
                                           rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
