/* The public norms. */
#include "normalize.h"

rm_status rm_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                       const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                       const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy) {
  rm_norm_job f;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_normalize_job(&f, format, sets, x, sx, w, sw, b, sb, mean, sm, variance, sv, eps, y, sy);
  return status || f.sets[0] == 0 ? status : rm_each_row(f.sets[0] * f.sets[1], rm_norm_length(&f), 3, rm_norm_forward_set, &f);
}

rm_status rm_normalize_with_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                                       const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, double eps, void *y,
                                       const ptrdiff_t *sy, void *mean, void *root) {
  rm_norm_job f;
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_normalize_job(&f, format, sets, x, sx, w, sw, b, sb, NULL, NULL, NULL, NULL, eps, y, sy);
  if (status) { /* there the result and its strides follow mean and variance */
    const int position = rm_status_argument(status);
    return position < 13 ? status : RM_STATUS(rm_status_code(status), position - 4);
  }
  if (f.sets[0] == 0) return RM_OK;
  status = rm_normalize_statistics_job(&f, sets, sx, sw, sb, sy, mean, root, 12);
  return status ? status : rm_each_row(f.sets[0] * f.sets[1], rm_norm_length(&f), 3, rm_norm_forward_set, &f);
}

rm_status rm_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean,
                                const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv, double eps, void *dx,
                                const ptrdiff_t *sdx) {
  rm_norm_job f;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_normalize_backward_job(&f, format, sets, g, sg, x, sx, w, sw, mean, sm, variance, sv, eps, dx, sdx);
  return status || f.sets[0] == 0 ? status : rm_each_row(f.sets[0] * f.sets[1], rm_norm_length(&f), 4, rm_norm_backward_set, &f);
}

rm_status rm_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                       const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                       const void *variance, const ptrdiff_t *sv, double eps, void *dw, const ptrdiff_t *sdw) {
  rm_norm_job f;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_normalize_backward_weight_job(&f, format, sets, g, sg, x, sx, mean, sm, variance, sv, eps, dw, sdw);
  return status || f.sets[0] == 0 ? status : rm_norm_backward_weights(&f);
}
