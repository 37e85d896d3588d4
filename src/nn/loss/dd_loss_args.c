#include <string.h>

#include "../../../crlibm/fp/bits.h"
#include "dd_loss.h"

static rm_row_array line(const void *base, ptrdiff_t stride) { return (rm_row_array){(char *)(uintptr_t)base, 0, stride}; }

/* Positions: format 1, reduction 2, n `at_n`. */
static rm_status begin(rm_dd_loss *f, int format, int reduction, int64_t n, int at_n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, at_n);
  memset(f, 0, sizeof *f);
  f->format = format, f->reduction = reduction, f->n = n, f->count = reduction == RM_REDUCTION_MEAN ? n : 1;
  return RM_OK;
}

/* RM_ERR_OVERLAP at `at_out` where results may not be stored. */
static rm_status apart(const rm_dd_loss *f, int at_out) {
  for (int k = 0; k < RM_DD_LOSS_INPUTS; k++)
    if (!rm_rows_are_apart(f->out, 1, f->n, rm_size_of(f->format), f->in[k], f->in[k].base ? f->n : 0))
      return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return RM_OK;
}

rm_status rm_bce_job(rm_dd_loss *f, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                     ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                     ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out) {
  const rm_status status = begin(f, format, reduction, n, 3);
  const int none = reduction == RM_REDUCTION_NONE;
  if (status || (none && n == 0)) return status;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (n && !y) return RM_STATUS(RM_ERR_NULL, 6);
  if (!out) return RM_STATUS(RM_ERR_NULL, 12);
  f->in[RM_BCE_X] = line(x, stride_x), f->in[RM_BCE_Y] = line(y, stride_y);
  f->in[RM_BCE_W] = line(weight, stride_weight), f->in[RM_BCE_P] = line(pos_weight, stride_pos_weight);
  f->out = line(out, stride_out);
  return none ? apart(f, 12) : RM_OK;
}

rm_status rm_bce_gradient_job(rm_dd_loss *f, int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                              ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight,
                              const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx) {
  const rm_status status = begin(f, format, reduction, n, 3);
  if (status || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 4);
  if (!x) return RM_STATUS(RM_ERR_NULL, 6);
  if (!y) return RM_STATUS(RM_ERR_NULL, 8);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 14);
  f->in[RM_BCE_X] = line(x, stride_x), f->in[RM_BCE_Y] = line(y, stride_y);
  f->in[RM_BCE_W] = line(weight, stride_weight), f->in[RM_BCE_P] = line(pos_weight, stride_pos_weight);
  f->in[RM_BCE_G] = line(g, reduction == RM_REDUCTION_NONE ? stride_g : 0), f->out = line(dx, stride_dx);
  return apart(f, 14);
}

/* Positions from 5 on as in losses.h. */
static rm_status begin_kl(rm_dd_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n) {
  const rm_status status = begin(f, format, reduction, n, 5);
  if (status) return status;
  if (log_target != 0 && log_target != 1) return RM_STATUS(RM_ERR_RANGE, 3);
  f->option = log_target;
  if (reduction != RM_REDUCTION_MEAN) return RM_OK;
  if (count < 0 || (count == 0 && n > 0)) return RM_STATUS(RM_ERR_RANGE, 4);
  f->count = count;
  return RM_OK;
}

rm_status rm_kl_job(rm_dd_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                    ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) {
  const rm_status status = begin_kl(f, format, reduction, log_target, count, n);
  const int none = reduction == RM_REDUCTION_NONE;
  if (status || (none && n == 0)) return status;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 6);
  if (n && !t) return RM_STATUS(RM_ERR_NULL, 8);
  if (!out) return RM_STATUS(RM_ERR_NULL, 10);
  f->in[RM_KL_X] = line(x, stride_x), f->in[RM_KL_T] = line(t, stride_t), f->out = line(out, stride_out);
  return none ? apart(f, 10) : RM_OK;
}

rm_status rm_kl_gradient_job(rm_dd_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                             ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) {
  const rm_status status = begin_kl(f, format, reduction, log_target, count, n);
  if (status || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 6);
  if (!t) return RM_STATUS(RM_ERR_NULL, 8);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 10);
  f->in[RM_KL_T] = line(t, stride_t), f->in[RM_KL_G] = line(g, reduction == RM_REDUCTION_NONE ? stride_g : 0);
  f->out = line(dx, stride_dx);
  return apart(f, 10);
}
