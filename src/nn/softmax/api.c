/* The public functions softmax, log_softmax, logsumexp and their gradients. */
#include "../../../include/repmath/nn.h"
#include "row.h"

static rm_status run(rm_softmax_problem p) {
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_softmax_check(&p);
  return status ? status : rm_each_row(p.rows, p.n, 2, rm_softmax_row, &p);
}
static rm_status run_backward(rm_softmax_gradient_problem p) {
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_softmax_gradient_check(&p);
  return status ? status : rm_each_row(p.rows, p.n, 4, rm_softmax_gradient_row, &p);
}

rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                     ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, row_y, stride_y)});
}
rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_LOG_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, row_y, stride_y)});
}
rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                       ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_LOGSUMEXP, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, stride_y, 0)});
}
rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                              const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                              ptrdiff_t stride_dx) {
  return run_backward((rm_softmax_gradient_problem){0, format, rows, n, rm_row_array_of(g, row_g, stride_g),
                                                    rm_row_array_of(y, row_y, stride_y),
                                                    rm_row_array_of(dx, row_dx, stride_dx)});
}
rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) {
  return run_backward((rm_softmax_gradient_problem){1, format, rows, n, rm_row_array_of(g, row_g, stride_g),
                                                    rm_row_array_of(y, row_y, stride_y),
                                                    rm_row_array_of(dx, row_dx, stride_dx)});
}
