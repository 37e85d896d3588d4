/* repmath: optimiser steps and gradient clipping on a GPU: the functions of optim.h over device memory, with their arguments,
 * checks and bits; see cuda.h. Options are read on the host, before the function returns. */
#ifndef REPMATH_CUDA_OPTIM_H
#define REPMATH_CUDA_OPTIM_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "optim.h"

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                  rm_cuda_stream stream);
RM_API rm_status rm_cuda_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                                   const rm_adam_options *options, rm_cuda_stream stream);

/* An exact sum of products x[i] y[i] occupies this many bytes of device memory, aligned to 8. If all bytes are 0, it is the
 * empty sum. */
enum { RM_CUDA_ACCUMULATOR_BYTES = 2048 };
RM_API rm_status rm_cuda_add_products(int format, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                      ptrdiff_t stride_y, void *accumulator, rm_cuda_stream stream);

/* Like rm_clip_to_norm and rm_root_of_total, for such a sum; a negative sum counts as NaN. */
RM_API rm_status rm_cuda_clip_to_norm(int format, int64_t n, void *g, const void *squares, double max_norm,
                                      rm_cuda_stream stream);
RM_API rm_status rm_cuda_root_of_total(const void *squares, double *out, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
