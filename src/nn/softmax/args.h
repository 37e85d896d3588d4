/* softmax, log_softmax, logsumexp and gradients: a call made ready on the host. */
#ifndef RM_NN_SOFTMAX_ARGS_H
#define RM_NN_SOFTMAX_ARGS_H

#include "../rows/parallel.h"

typedef enum { RM_SOFTMAX, RM_LOG_SOFTMAX, RM_LOGSUMEXP } rm_softmax_kind;

typedef struct {
  rm_softmax_kind what;
  int format;
  int64_t rows, n;
  rm_row_array x, y;
} rm_softmax_rows;

typedef struct {
  int by_exp; /* of log_softmax */
  int format;
  int64_t rows, n;
  rm_row_array g, y, dx;
} rm_softmax_gradient;

/* The arguments of the public functions (include/repmath/nn.h), and their status; f->rows is 0 where nothing is to be done. */
rm_status rm_softmax_job(rm_softmax_rows *f, rm_softmax_kind what, int format, int64_t rows, int64_t n, const void *x,
                         ptrdiff_t row_x, ptrdiff_t stride_x, void *y, ptrdiff_t row_y, ptrdiff_t stride_y);
rm_status rm_softmax_gradient_job(rm_softmax_gradient *f, int by_exp, int format, int64_t rows, int64_t n, const void *g,
                                  ptrdiff_t row_g, ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y,
                                  void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

#endif
