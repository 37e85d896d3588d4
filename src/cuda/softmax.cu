/* softmax, log_softmax, logsumexp and gradients: the fast phase, over the CPU's function of a row (nn/softmax/row.h). */
#include "softmax.h"

#include "rows_block.h"

#include "../../include/repmath/cuda_nn.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/exp_row.inl"
#include "../nn/rows/totals.inl"

#include "../nn/softmax/row.h"

namespace {

rm_status forward(rm_softmax_kind what, int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x,
                  ptrdiff_t stride_x, void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream) {
  rm_softmax_rows f;
  const rm_status status = rm_softmax_job(&f, what, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
  if (status || f.rows == 0) return status;
  return each_row<rm_softmax_rows, rm_softmax_row>(f, f.rows, n, 2, rm_softmax_rest, stream);
}

rm_status backward(int by_exp, int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                   const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx,
                   rm_cuda_stream stream) {
  rm_softmax_gradient f;
  const rm_status status =
      rm_softmax_gradient_job(&f, by_exp, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
  if (status || f.rows == 0) return status;
  return each_row<rm_softmax_gradient, rm_softmax_gradient_row>(f, f.rows, n, 3, rm_softmax_gradient_rest, stream);
}

} // namespace

extern "C" {

rm_status rm_cuda_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                          ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward(RM_SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y, stream);
}
rm_status rm_cuda_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                              void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward(RM_LOG_SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y, stream);
}
rm_status rm_cuda_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                            ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward(RM_LOGSUMEXP, format, rows, n, x, row_x, stride_x, y, stride_y, 0, stream);
}
rm_status rm_cuda_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                   const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                   ptrdiff_t stride_dx, rm_cuda_stream stream) {
  return backward(0, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx, stream);
}
rm_status rm_cuda_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                       ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                                       ptrdiff_t row_dx, ptrdiff_t stride_dx, rm_cuda_stream stream) {
  return backward(1, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx, stream);
}
}
