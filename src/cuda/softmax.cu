/* softmax, log_softmax, logsumexp and gradients: the fast phase, over the CPU's function of a row (nn/softmax/row.h). */
#include "softmax.h"

#include "rows_fast.h"

#include "../../include/repmath/cuda_nn.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/exp_row.inl"
#include "../nn/rows/totals.inl"

#include "../nn/softmax/row.h"

RM_STATIC int64_t rm_rows_decide(const rm_softmax_share *s) { return s->n; } /* the accurate phase alone runs shares */

#include "softmax_whole.h"

namespace {

rm_status forward(rm_softmax_problem f, rm_cuda_stream stream) {
  const rm_status status = rm_softmax_check(&f);
  if (status || f.rows == 0) return status;
  return each_row<rm_softmax_problem, rm_softmax_row>(f, f.rows, f.n, 2, rm_softmax_accurate, stream, whole_softmax);
}

rm_status backward(rm_softmax_gradient_problem f, rm_cuda_stream stream) {
  const rm_status status = rm_softmax_gradient_check(&f);
  if (status || f.rows == 0) return status;
  return each_row<rm_softmax_gradient_problem, rm_softmax_gradient_row>(f, f.rows, f.n, 3, rm_softmax_gradient_accurate,
                                                                        stream);
}

} // namespace

extern "C" {

rm_status rm_cuda_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                          ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward({RM_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x), rm_row_array_of(y, row_y, stride_y)},
                 stream);
}
rm_status rm_cuda_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                              void *y, ptrdiff_t row_y, ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward({RM_LOG_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x), rm_row_array_of(y, row_y, stride_y)},
                 stream);
}
rm_status rm_cuda_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                            ptrdiff_t stride_y, rm_cuda_stream stream) {
  return forward({RM_LOGSUMEXP, format, rows, n, rm_row_array_of(x, row_x, stride_x), rm_row_array_of(y, stride_y, 0)},
                 stream);
}
rm_status rm_cuda_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                   const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                   ptrdiff_t stride_dx, rm_cuda_stream stream) {
  return backward({0, format, rows, n, rm_row_array_of(g, row_g, stride_g), rm_row_array_of(y, row_y, stride_y),
                   rm_row_array_of(dx, row_dx, stride_dx)},
                  stream);
}
rm_status rm_cuda_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                       ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                                       ptrdiff_t row_dx, ptrdiff_t stride_dx, rm_cuda_stream stream) {
  return backward({1, format, rows, n, rm_row_array_of(g, row_g, stride_g), rm_row_array_of(y, row_y, stride_y),
                   rm_row_array_of(dx, row_dx, stride_dx)},
                  stream);
}
}
