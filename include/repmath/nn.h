/* repmath: composite operators of deep learning, each the rounded value of one real formula (docs/spec.md, section 5).
 *
 * Arrays are rows of n elements of `format` (RM_FORMAT_*): row_<x> is the distance between rows, stride_<x> between the elements of
 * one, both in bytes and of any sign. An output may be an input with the same distances; otherwise they may not overlap. */
#ifndef REPMATH_NN_H
#define REPMATH_NN_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Along a row x: e^(x_i) / sum of e^(x_k); x_i - log(sum of e^(x_k)). Rows with a NaN, and rows whose greatest element is infinite, are
 * NaN. */
RM_API rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                            ptrdiff_t row_y, ptrdiff_t stride_y);
RM_API rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                                ptrdiff_t row_y, ptrdiff_t stride_y);
/* y of each row, stride_y apart: log(sum of e^(x_k)). A NaN gives NaN; otherwise the greatest element, where it is infinite, is the result;
 * that of no elements is -infinity. */
RM_API rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                              ptrdiff_t stride_y);

/* Gradients by the input, from the gradient g by the result and the result y:
 *   softmax      y_i (g_i - sum of g_k y_k)
 *   log_softmax  g_i - e^(y_i) (sum of g_k) */
RM_API rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                     const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                     ptrdiff_t stride_dx);
RM_API rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                         const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                         ptrdiff_t stride_dx);

#ifdef __cplusplus
}
#endif
#endif
