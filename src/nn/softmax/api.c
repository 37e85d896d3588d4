/* The public softmax, log_softmax, logsumexp and gradients. */
#include "../../../include/repmath/nn.h"
#include "row.h"

static rm_status run(rm_softmax_kind what, int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x,
                     ptrdiff_t stride_x, void *y, ptrdiff_t row_y, ptrdiff_t stride_y) {
  rm_softmax_rows f;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_softmax_job(&f, what, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
  return status ? status : rm_each_row(f.rows, n, 2, rm_softmax_row, &f);
}

rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                     ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run(RM_SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
}
rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run(RM_LOG_SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
}
rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                       ptrdiff_t stride_y) {
  return run(RM_LOGSUMEXP, format, rows, n, x, row_x, stride_x, y, stride_y, 0);
}

static rm_status run_backward(int by_exp, int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                              ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                              ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  rm_softmax_gradient f;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status =
      rm_softmax_gradient_job(&f, by_exp, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
  return status ? status : rm_each_row(f.rows, n, 3, rm_softmax_gradient_row, &f);
}

rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                              const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                              ptrdiff_t stride_dx) {
  return run_backward(0, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
}
rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) {
  return run_backward(1, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
}
