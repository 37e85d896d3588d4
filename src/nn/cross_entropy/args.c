/* Checks the arguments of cross entropy and of negative log likelihood. */
#include "args.h"

#include "../../../crlibm/fp/bits.h"
#include "../../common/overlap.h"

/* Positions of the arguments; a gradient has g in the place of the losses. */
enum { FORMAT = 1, PROBLEM, LOSS, G = LOSS, STRIDE_G, DX };

static rm_status check(int format, const rm_cross_entropy_problem *p) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (!p) return RM_STATUS(RM_ERR_NULL, PROBLEM);
  return p->rows < 0 || p->n < 0 ? RM_STATUS(RM_ERR_SIZE, PROBLEM) : RM_OK;
}
static int no_reduction(const rm_cross_entropy_problem *p) {
  return p->reduction < RM_REDUCTION_NONE || p->reduction > RM_REDUCTION_SUM;
}

static rm_status rm_begin_entropy(rm_entropy *f, const rm_cross_entropy_problem *p) {
  const rm_status status = check(f->format, p);
  if (status) return status;
  if (p->rows && p->n && (!p->x || !p->target == !p->probability)) return RM_STATUS(RM_ERR_NULL, PROBLEM);
  if (!(p->label_smoothing >= 0.0 && p->label_smoothing <= 1.0)) return RM_STATUS(RM_ERR_RANGE, PROBLEM);
  if (no_reduction(p)) return RM_STATUS(RM_ERR_ENUM, PROBLEM);
  f->p = *p;
  return RM_OK;
}

rm_status rm_entropy_check(rm_entropy *f, const rm_cross_entropy_problem *p) {
  const rm_status status = rm_begin_entropy(f, p);
  if (status) return status;
  return !f->out.base && (p->reduction != RM_REDUCTION_NONE || p->rows) ? RM_STATUS(RM_ERR_NULL, LOSS) : RM_OK;
}

rm_status rm_entropy_gradient_check(rm_entropy *f, const rm_cross_entropy_problem *p) {
  const rm_status status = rm_begin_entropy(f, p);
  if (status || p->rows == 0 || p->n == 0) return status;
  if (!f->g) return RM_STATUS(RM_ERR_NULL, G);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, DX);
  if (p->reduction != RM_REDUCTION_NONE) f->stride_g = 0;
  const int size = rm_size_of(f->format);
  const int apart = rm_rows_are_apart(f->out, p->rows, p->n, size, rm_row_array_of(p->x, p->row_x, p->stride_x), p->n) &&
                    rm_rows_are_apart(f->out, p->rows, p->n, size,
                                      rm_row_array_of(p->probability, p->row_probability, p->stride_probability), p->n);
  return apart ? RM_OK : RM_STATUS(RM_ERR_OVERLAP, DX);
}

static rm_status begin_nll(rm_nll *f, const rm_cross_entropy_problem *p) {
  const rm_status status = check(f->format, p);
  if (status) return status;
  if (no_reduction(p)) return RM_STATUS(RM_ERR_ENUM, PROBLEM);
  if (p->rows && (!p->target || (p->n && !p->x))) return RM_STATUS(RM_ERR_NULL, PROBLEM);
  f->one = rm_one_bits(f->format), f->p = *p;
  return RM_OK;
}

rm_status rm_nll_check(rm_nll *f, const rm_cross_entropy_problem *p) {
  const rm_status status = begin_nll(f, p);
  const int none = p && p->reduction == RM_REDUCTION_NONE, size = status ? 0 : rm_size_of(f->format);
  if (status || (none && p->rows == 0)) return status;
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, LOSS);
  const rm_view out = {f->out.base, 0, f->out.row}, x = rm_view_of(p->x, p->row_x, p->stride_x);
  if (none && rm_overlaps_itself(out, 1, p->rows, size)) return RM_STATUS(RM_ERR_OVERLAP, LOSS);
  if (none && p->n && p->x && rm_overlaps(out, 1, p->rows, size, x, p->rows, p->n, size))
    return RM_STATUS(RM_ERR_OVERLAP, LOSS);
  return RM_OK;
}

rm_status rm_nll_gradient_check(rm_nll *f, const rm_cross_entropy_problem *p) {
  const rm_status status = begin_nll(f, p);
  if (status || p->rows == 0 || p->n == 0) return status;
  if (!f->g) return RM_STATUS(RM_ERR_NULL, G);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, DX);
  const int none = p->reduction == RM_REDUCTION_NONE, size = rm_size_of(f->format);
  if (!none) f->stride_g = 0;
  const rm_view out = {f->out.base, f->out.row, f->out.stride}, from = rm_view_of(f->g, f->stride_g, 0);
  if (rm_overlaps_itself(out, p->rows, p->n, size) ||
      rm_overlaps(out, p->rows, p->n, size, from, none ? p->rows : 1, 1, size))
    return RM_STATUS(RM_ERR_OVERLAP, DX);
  return RM_OK;
}
