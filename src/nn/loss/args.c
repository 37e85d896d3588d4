/* Every regression loss is a term of loss/kernels.h divided by a number, and so are the gradients.
 *
 *   loss               term        b     factor  divisor  gradient   factor  divisor
 *   MSE                SQUARE      inf   1       1        CLAMPED    2       1
 *   L1                 ABSOLUTE    -     1       1        SIGN       1       1
 *   SMOOTH_L1, p > 0   SQUARE      p     1/2     p        CLAMPED    1       p
 *   HUBER              SQUARE      p     1/2     1        CLAMPED    1       1 */
#include "args.h"

#include <string.h>

#include "../../../crlibm/fp/bits.h"

/* Sets the row of the table above. Positions of arguments: loss 1, p 2, format 3, reduction 4, n 5. */
static rm_status begin(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, int gradient) {
  if (loss < RM_LOSS_MSE || loss > RM_LOSS_HUBER) return RM_STATUS(RM_ERR_ENUM, 1);
  if (loss >= RM_LOSS_SMOOTH_L1 && !(p >= 0.0 && rm_is_finite(p) && (p > 0.0 || loss == RM_LOSS_SMOOTH_L1))) return RM_STATUS(RM_ERR_RANGE, 2);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 3);
  if (reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 4);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 5);
  if (loss == RM_LOSS_SMOOTH_L1 && p == 0.0) loss = RM_LOSS_L1;
  memset(f, 0, sizeof *f);
  f->format = format, f->reduction = reduction, f->n = n;
  f->kind = loss == RM_LOSS_L1 ? (gradient ? RM_TERM_SIGN : RM_TERM_ABSOLUTE) : gradient ? RM_TERM_CLAMPED : RM_TERM_SQUARE;
  f->b = loss >= RM_LOSS_SMOOTH_L1 ? p : rm_from_bits64(rm_infinity_bits(RM_F64));
  f->factor = gradient && loss == RM_LOSS_MSE ? 2.0 : 1.0;
  if (loss >= RM_LOSS_SMOOTH_L1 && !gradient) f->factor = 0.5;
  f->divisor = loss == RM_LOSS_SMOOTH_L1 ? p : 1.0;
  f->count = reduction == RM_REDUCTION_MEAN ? n : 1;
  return RM_OK;
}

static rm_row_array line(const void *base, ptrdiff_t stride) { return (rm_row_array){(char *)(uintptr_t)base, 0, stride}; }

/* One row of n elements each: whether results may be stored. */
static int apart(const rm_pair_loss *f, const rm_row_array *x, int64_t n_x) {
  return rm_rows_are_apart(f->out, 1, f->n, rm_size_of(f->format), *x, n_x);
}

rm_status rm_pair_loss_job(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, const void *x,
                           ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out) {
  const rm_status status = begin(f, loss, p, format, reduction, n, 0);
  const int none = reduction == RM_REDUCTION_NONE;
  if (status || (n == 0 && none)) return status;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 6);
  if (n && !y) return RM_STATUS(RM_ERR_NULL, 8);
  if (!out) return RM_STATUS(RM_ERR_NULL, 10);
  f->x = line(x, stride_x), f->y = line(y, stride_y), f->out = line(out, stride_out);
  if (none && (!apart(f, &f->x, n) || !apart(f, &f->y, n))) return RM_STATUS(RM_ERR_OVERLAP, 10);
  return RM_OK;
}

rm_status rm_pair_gradient_job(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, const void *g,
                               ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                               void *dx, ptrdiff_t stride_dx) {
  const rm_status status = begin(f, loss, p, format, reduction, n, 1);
  if (status || n == 0) return status;
  const int one = reduction != RM_REDUCTION_NONE;
  if (!g) return RM_STATUS(RM_ERR_NULL, 6);
  if (!x) return RM_STATUS(RM_ERR_NULL, 8);
  if (!y) return RM_STATUS(RM_ERR_NULL, 10);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 12);
  f->g = line(g, one ? 0 : stride_g), f->x = line(x, stride_x), f->y = line(y, stride_y), f->out = line(dx, stride_dx);
  if (!apart(f, &f->g, one ? 1 : n) || !apart(f, &f->x, n) || !apart(f, &f->y, n)) return RM_STATUS(RM_ERR_OVERLAP, 12);
  return RM_OK;
}
