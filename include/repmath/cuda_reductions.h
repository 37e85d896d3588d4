/* repmath: exact statistics, running sums and scatter sums on a GPU: functions of reductions.h and scatter.h over device memory,
 * with their arguments, checks and bits; see cuda.h. */
#ifndef REPMATH_CUDA_REDUCTIONS_H
#define REPMATH_CUDA_REDUCTIONS_H

#include "cuda_elementwise.h" /* rm_cuda_stream */

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                              rm_cuda_stream stream);
RM_API rm_status rm_cuda_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                              rm_cuda_stream stream);
RM_API rm_status rm_cuda_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                             rm_cuda_stream stream);
RM_API rm_status rm_cuda_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                             rm_cuda_stream stream);

RM_API rm_status rm_cuda_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                                ptrdiff_t stride_out, rm_cuda_stream stream);

/* The index is read on the device: where an element of it is not a row of out, all elements of out become NaN. */
RM_API rm_status rm_cuda_index_add(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                                   int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                                   ptrdiff_t col_src, rm_cuda_stream stream);
RM_API rm_status rm_cuda_segment_sum(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                                     int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                                     ptrdiff_t col_src, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
