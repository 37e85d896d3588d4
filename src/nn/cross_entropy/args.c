#include <string.h>

#include "../../../crlibm/fp/bits.h"
#include "args.h"

static rm_status check(rm_entropy *f, int format, const rm_cross_entropy_problem *p) {
  memset(f, 0, sizeof *f);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!p) return RM_STATUS(RM_ERR_NULL, 2);
  if (p->rows < 0 || p->n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (p->rows && p->n && (!p->x || !p->target == !p->probability)) return RM_STATUS(RM_ERR_NULL, 2);
  if (!(p->label_smoothing >= 0.0 && p->label_smoothing <= 1.0)) return RM_STATUS(RM_ERR_RANGE, 2);
  if (p->reduction < 0 || p->reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  f->format = format;
  f->p = *p;
  return RM_OK;
}

rm_status rm_entropy_job(rm_entropy *f, int format, const rm_cross_entropy_problem *problem, void *loss,
                         ptrdiff_t stride_loss) {
  const rm_status status = check(f, format, problem);
  if (status) return status;
  if (!loss && (problem->reduction != RM_REDUCTION_NONE || problem->rows)) return RM_STATUS(RM_ERR_NULL, 3);
  f->out = (rm_row_array){loss, stride_loss, 0};
  return RM_OK;
}

rm_status rm_entropy_gradient_job(rm_entropy *f, int format, const rm_cross_entropy_problem *problem, const void *g,
                                  ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  const rm_status status = check(f, format, problem);
  if (status || problem->rows == 0 || problem->n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 5);
  f->g = g;
  f->stride_g = problem->reduction == RM_REDUCTION_NONE ? stride_g : 0;
  f->out = (rm_row_array){dx, row_dx, stride_dx};
  const rm_row_array x = {(char *)(uintptr_t)problem->x, problem->row_x, problem->stride_x};
  const rm_row_array p = {(char *)(uintptr_t)problem->probability, problem->row_probability, problem->stride_probability};
  const int size = rm_size_of(format);
  if (!rm_rows_are_apart(f->out, problem->rows, problem->n, size, x, problem->n) ||
      !rm_rows_are_apart(f->out, problem->rows, problem->n, size, p, problem->n))
    return RM_STATUS(RM_ERR_OVERLAP, 5);
  return RM_OK;
}
