/* repmath: exact statistics, cumulative sums and scatter sums on a GPU: functions of reductions.h and scatter.h over device
 * memory, with their arguments, checks and bits; see cuda.h. */
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
RM_API rm_status rm_cuda_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                             double ddof, rm_cuda_stream stream);
RM_API rm_status rm_cuda_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                             double ddof, rm_cuda_stream stream);

/* These functions compute a sum or statistic of each of `rows` rows of n elements, in a few launches whatever the number of
 * rows. Row i has the elements at x + i row_x + j stride_x, and its result goes to out + i stride_out. Strides are in bytes
 * and of any sign. Each result has the bits of the function for one row: RN of the sum of the terms, of the sum divided by n,
 * of the root of the sum of squares, of the sum of products x[j] y[j], and of the variance with n - ddof degrees of freedom
 * or of its root. Without terms sum, dot and norm are 0, the others NaN.
 *
 * They write nothing and return RM_ERR_ENUM for a wrong format, RM_ERR_SIZE for rows or n below 0, RM_ERR_NULL,
 * RM_ERR_OVERLAP if out may share bytes with x or y or with itself, RM_ERR_RANGE for a ddof as in rm_var. */
RM_API rm_status rm_cuda_sum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                  int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_mean_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                   int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_norm_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                   int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_dot_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, int format_out, void *out,
                                  ptrdiff_t stride_out, rm_cuda_stream stream);
RM_API rm_status rm_cuda_var_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                  int format_out, void *out, ptrdiff_t stride_out, double ddof, rm_cuda_stream stream);
RM_API rm_status rm_cuda_std_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                  int format_out, void *out, ptrdiff_t stride_out, double ddof, rm_cuda_stream stream);

RM_API rm_status rm_cuda_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                                ptrdiff_t stride_out, rm_cuda_stream stream);

/* Computes the cumulative sums of each of `rows` rows, in a few launches. Row i begins at x + i row_x and its sums at out + i
 * row_out. out must not overlap x. */
RM_API rm_status rm_cuda_cumsum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x,
                                     ptrdiff_t stride_x, int format_out, void *out, ptrdiff_t row_out, ptrdiff_t stride_out,
                                     rm_cuda_stream stream);

/* The index is read on the device: if an element of it is not a row of out, all elements of out become NaN. */
RM_API rm_status rm_cuda_index_add(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                                   int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src,
                                   ptrdiff_t row_src, ptrdiff_t col_src, rm_cuda_stream stream);
RM_API rm_status rm_cuda_segment_sum(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                                     int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src,
                                     ptrdiff_t row_src, ptrdiff_t col_src, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
