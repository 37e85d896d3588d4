/* The public functions of cross entropy and its gradient. */
#include <stdlib.h>

#include "row.h"

/* Sets *counted; the check has found the targets to be given. */
static rm_status count(rm_entropy *f, int64_t *counted) {
  *counted = f->p.rows;
  f->counted = counted;
  for (int64_t i = 0; f->p.target && i < f->p.rows; i++) {
    const int64_t t = rm_entropy_target(f, i);
    if (t == f->p.ignore_index) --*counted;
    else if (t < 0 || t >= f->p.n) return RM_STATUS(RM_ERR_INDEX, 2);
  }
  return RM_OK;
}

rm_status rm_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss) {
  rm_entropy f = {.format = format, .out = rm_row_array_of(loss, stride_loss, 0)};
  int64_t counted;
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_entropy_check(&f, problem);
  if (!status) status = count(&f, &counted);
  if (status) return status;
  const int each = problem->reduction == RM_REDUCTION_NONE;
  const size_t rows = (size_t)problem->rows + 1;
  f.losses = calloc(rows, sizeof *f.losses + sizeof *f.specials);
  if (!f.losses) return RM_ERR_MEMORY;
  f.specials = (double *)(f.losses + rows);
  status = rm_each_row(problem->rows, problem->n, 4, each ? rm_entropy_finish_row : rm_entropy_loss_row, &f);
  if (!status && !each) status = rm_each_row(1, problem->n, 4, rm_entropy_finish_total, &f);
  free(f.losses);
  return status;
}

rm_status rm_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                    void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  rm_entropy f = {.format = format, .out = rm_row_array_of(dx, row_dx, stride_dx), .g = g, .stride_g = stride_g};
  int64_t counted;
  rm_dd_ball divisor;
  double special;
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_entropy_gradient_check(&f, problem);
  if (!status) status = count(&f, &counted);
  if (status || problem->rows == 0 || problem->n == 0) return status;
  special = rm_entropy_divide(&f, &divisor);
  f.losses = &divisor, f.specials = &special;
  return rm_each_row(problem->rows, problem->n, 7, rm_entropy_gradient_row, &f);
}
