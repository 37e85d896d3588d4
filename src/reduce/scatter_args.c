/* Checks the arguments of scatter sums, except the index itself, for the CPU and for CUDA. */
#include "../../crlibm/fp/round.h"
#include "scatter_args.h"

enum { AT_FORMAT = 1, AT_ROWS, AT_COLS, AT_OUT, AT_N = 7, AT_INDEX, AT_SRC = 10 };

rm_status rm_scatter_check(const rm_scatter_problem *p) {
  if (p->format < 0 || p->format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT);
  if (p->rows < 0) return RM_STATUS(RM_ERR_SIZE, AT_ROWS);
  if (p->cols < 0) return RM_STATUS(RM_ERR_SIZE, AT_COLS);
  if (p->n < 0) return RM_STATUS(RM_ERR_SIZE, AT_N);
  const int size = rm_size_of(p->format), some = p->rows > 0 && p->cols > 0;
  if (some && !p->out.base) return RM_STATUS(RM_ERR_NULL, AT_OUT);
  if (p->n > 0 && !p->index) return RM_STATUS(RM_ERR_NULL, AT_INDEX);
  if (p->n > 0 && p->cols > 0 && !p->src.base) return RM_STATUS(RM_ERR_NULL, AT_SRC);
  if (some && rm_overlaps_itself(p->out, p->rows, p->cols, size)) return RM_STATUS(RM_ERR_OVERLAP, AT_OUT);
  if (some && p->n > 0) {
    const rm_view index = rm_view_of(p->index, p->stride_index, 0);
    if (rm_overlaps(p->out, p->rows, p->cols, size, p->src, p->n, p->cols, size) ||
        rm_overlaps(p->out, p->rows, p->cols, size, index, p->n, 1, sizeof(int64_t)))
      return RM_STATUS(RM_ERR_OVERLAP, AT_OUT);
  }
  return RM_OK;
}
