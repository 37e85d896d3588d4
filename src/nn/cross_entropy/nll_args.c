#include <string.h>

#include "../../common/overlap.h"
#include "../loss/args.h"

/* Positions: format 1, problem 2. */
static rm_status begin(rm_nll *f, int format, const rm_cross_entropy_problem *p) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!p) return RM_STATUS(RM_ERR_NULL, 2);
  if (p->rows < 0 || p->n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (p->reduction < RM_REDUCTION_NONE || p->reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  if (p->rows && (!p->target || (p->n && !p->x))) return RM_STATUS(RM_ERR_NULL, 2);
  memset(f, 0, sizeof *f);
  f->format = format, f->one = rm_one_bits(format), f->p = *p;
  return RM_OK;
}

rm_status rm_nll_job(rm_nll *f, int format, const rm_cross_entropy_problem *p, void *loss, ptrdiff_t stride_loss) {
  const rm_status status = begin(f, format, p);
  const int none = p && p->reduction == RM_REDUCTION_NONE, size = status ? 0 : rm_size_of(format);
  if (status || (none && p->rows == 0)) return status;
  if (!loss) return RM_STATUS(RM_ERR_NULL, 3);
  const rm_view out = {loss, 0, stride_loss}, x = {(char *)(uintptr_t)p->x, p->row_x, p->stride_x};
  if (none && rm_overlaps_itself(out, 1, p->rows, size)) return RM_STATUS(RM_ERR_OVERLAP, 3);
  if (none && p->n && p->x && rm_overlaps(out, 1, p->rows, size, x, p->rows, p->n, size)) return RM_STATUS(RM_ERR_OVERLAP, 3);
  f->out = (rm_row_array){loss, stride_loss, 0};
  return RM_OK;
}

rm_status rm_nll_gradient_job(rm_nll *f, int format, const rm_cross_entropy_problem *p, const void *g, ptrdiff_t stride_g, void *dx,
                              ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  const rm_status status = begin(f, format, p);
  if (status || p->rows == 0 || p->n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 5);
  const int none = p->reduction == RM_REDUCTION_NONE, size = rm_size_of(format);
  const rm_view out = {dx, row_dx, stride_dx}, from = {(char *)(uintptr_t)g, none ? stride_g : 0, 0};
  if (rm_overlaps_itself(out, p->rows, p->n, size) || rm_overlaps(out, p->rows, p->n, size, from, none ? p->rows : 1, 1, size))
    return RM_STATUS(RM_ERR_OVERLAP, 5);
  f->out = (rm_row_array){dx, row_dx, stride_dx};
  f->g = g, f->stride_g = none ? stride_g : 0;
  return RM_OK;
}
