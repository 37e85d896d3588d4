/* repmath on a GPU: launchers over device memory. repmath.h does not include this header. Link repmath_cuda, which needs no
 * other library.
 *
 * Pointers are to memory that the device can read and write. A launcher checks its arguments, enqueues its work on the stream
 * and returns without waiting; the results are valid once the stream has completed that work. The bits are those of the CPU.
 * A device has no floating-point exception flags, so none is raised. RM_ERR_DEVICE: the work could not be enqueued. */
#ifndef REPMATH_CUDA_H
#define REPMATH_CUDA_H

#include "cuda_elementwise.h"
#include "cuda_formulas.h"
#include "cuda_losses.h"
#include "cuda_memory.h"
#include "cuda_nn.h"
#include "cuda_optim.h"
#include "cuda_pooling.h"
#include "cuda_products.h"
#include "cuda_random.h"
#include "cuda_reductions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of devices, 0 without a driver. */
RM_API int rm_cuda_devices(void);

/* *out = RN(sum of x[i]), *out = RN(sum of x[i] y[i]); strides in bytes. */
RM_API rm_status rm_cuda_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y,
                                 float *out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y,
                                 double *out, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
