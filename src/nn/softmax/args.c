#include "../../../crlibm/fp/bits.h"
#include "args.h"

/* Positions: format 1, rows 2, n 3. */
static rm_status check_sizes(int format, int64_t rows, int64_t n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  return n < 0 ? RM_STATUS(RM_ERR_SIZE, 3) : RM_OK;
}

rm_status rm_softmax_job(rm_softmax_rows *f, rm_softmax_kind what, int format, int64_t rows, int64_t n, const void *x,
                         ptrdiff_t row_x, ptrdiff_t stride_x, void *y, ptrdiff_t row_y, ptrdiff_t stride_y) {
  const rm_status status = check_sizes(format, rows, n);
  const int64_t results = what == RM_LOGSUMEXP ? 1 : n;
  f->rows = 0;
  if (status || rows == 0 || results == 0) return status;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (!y) return RM_STATUS(RM_ERR_NULL, 7);
  *f = (rm_softmax_rows){what,
                         format,
                         0,
                         n,
                         {(char *)(uintptr_t)x, row_x, stride_x},
                         {y, row_y, what == RM_LOGSUMEXP ? rm_size_of(format) : stride_y}};
  if (!rm_rows_are_apart(f->y, rows, results, rm_size_of(format), f->x, n)) return RM_STATUS(RM_ERR_OVERLAP, 7);
  f->rows = rows;
  return RM_OK;
}

rm_status rm_softmax_gradient_job(rm_softmax_gradient *f, int by_exp, int format, int64_t rows, int64_t n, const void *g,
                                  ptrdiff_t row_g, ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y,
                                  void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  const rm_status status = check_sizes(format, rows, n);
  f->rows = 0;
  if (status || rows == 0 || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 4);
  if (!y) return RM_STATUS(RM_ERR_NULL, 7);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 10);
  *f = (rm_softmax_gradient){by_exp,
                             format,
                             0,
                             n,
                             {(char *)(uintptr_t)g, row_g, stride_g},
                             {(char *)(uintptr_t)y, row_y, stride_y},
                             {dx, row_dx, stride_dx}};
  const int size = rm_size_of(format);
  if (!rm_rows_are_apart(f->dx, rows, n, size, f->g, n) || !rm_rows_are_apart(f->dx, rows, n, size, f->y, n))
    return RM_STATUS(RM_ERR_OVERLAP, 10);
  f->rows = rows;
  return RM_OK;
}
