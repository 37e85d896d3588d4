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

/* The arrays of one tensor of a list, as those of rm_sgd_step and rm_adam_step: SGD has m, the momentum buffer, alone. count:
 * NULL, or in device memory the count of steps of Adam, this one included, in place of the option `step`; a count below 1 is
 * 1. All tensors of a list have one or none has. */
typedef struct {
  int64_t n;
  void *p;
  const void *g;
  void *m, *v, *w;
  const float *count;
} rm_cuda_step_arrays;

/* What a step reads in device memory when its turn in the stream comes. found_inf: NULL, or 1 where the step is to be left
 * out. grad_scale: NULL, or what all gradients are divided by first, each rounded to its format and stored in its place. */
typedef struct {
  const float *grad_scale, *found_inf;
} rm_cuda_step_scale;

/* One step of each of `count` tensors of one format, with the same options: the bits of `count` calls for one tensor, by a
 * launch for each 64 tensors. Tensors may have no elements; their arrays are not looked at. w is NULL in all of them or in
 * none. The list is read on the host, before the function returns. Errors in it are those of argument 3, and then nothing is
 * launched. RM_ERR_OVERLAP: an array that is written shares bytes with another of the list; gradients may share theirs, where
 * there is no grad_scale. scale: NULL, or what is read on the device. */
RM_API rm_status rm_cuda_sgd_steps(int format, int64_t count, const rm_cuda_step_arrays *tensors,
                                   const rm_sgd_options *options, const rm_cuda_step_scale *scale, rm_cuda_stream stream);
RM_API rm_status rm_cuda_adam_steps(int format, int64_t count, const rm_cuda_step_arrays *tensors,
                                    const rm_adam_options *options, const rm_cuda_step_scale *scale, rm_cuda_stream stream);

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
