/* Checks the arguments of softmax and its relatives. */
#include "args.h"

#include "../../../crlibm/fp/bits.h"

/* Positions of the arguments that all functions have. */
enum { FORMAT = 1, ROWS, N };

static rm_status check_sizes(int format, int64_t rows, int64_t n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, ROWS);
  return n < 0 ? RM_STATUS(RM_ERR_SIZE, N) : RM_OK;
}

rm_status rm_softmax_check(rm_softmax_problem *p) {
  enum { X = N + 1, ROW_X, STRIDE_X, Y };
  const rm_status status = check_sizes(p->format, p->rows, p->n);
  const int64_t results = p->kind == RM_LOGSUMEXP ? 1 : p->n;
  if (results == 0) p->rows = 0;
  if (status || p->rows == 0) return status;
  if (p->n && !p->x.base) return RM_STATUS(RM_ERR_NULL, X);
  if (!p->y.base) return RM_STATUS(RM_ERR_NULL, Y);
  const int size = rm_size_of(p->format);
  if (p->kind == RM_LOGSUMEXP) p->y.stride = size;
  return rm_rows_are_apart(p->y, p->rows, results, size, p->x, p->n) ? RM_OK : RM_STATUS(RM_ERR_OVERLAP, Y);
}

rm_status rm_softmax_gradient_check(rm_softmax_gradient_problem *p) {
  enum { G = N + 1, ROW_G, STRIDE_G, Y, ROW_Y, STRIDE_Y, DX };
  const rm_status status = check_sizes(p->format, p->rows, p->n);
  if (p->n == 0) p->rows = 0;
  if (status || p->rows == 0) return status;
  if (!p->g.base) return RM_STATUS(RM_ERR_NULL, G);
  if (!p->y.base) return RM_STATUS(RM_ERR_NULL, Y);
  if (!p->dx.base) return RM_STATUS(RM_ERR_NULL, DX);
  const int size = rm_size_of(p->format);
  const int apart =
      rm_rows_are_apart(p->dx, p->rows, p->n, size, p->g, p->n) && rm_rows_are_apart(p->dx, p->rows, p->n, size, p->y, p->n);
  return apart ? RM_OK : RM_STATUS(RM_ERR_OVERLAP, DX);
}
