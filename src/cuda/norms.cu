/* Norms and their gradients: the fast phase, over the CPU's functions of a set (nn/norm). */
#include "norms.h"

#include "rows_fast.h"

#include "../../include/repmath/cuda_nn.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/totals.inl"

#include "../nn/norm/normalize.inl"

#include "../nn/norm/weight_row.h"

#include "norms_weight.h"

extern "C" {

rm_status rm_cuda_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                            const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                            const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy,
                            rm_cuda_stream stream) {
  rm_norm_problem f;
  const rm_norm_call call = {RM_NORM, format, sets, eps, {}, {x, sx}, {w, sw}, {b, sb}, {mean, sm}, {variance, sv}, {y, sy}};
  const rm_status status = rm_norm_check(&f, &call);
  if (status || f.sets[0] == 0) return status;
  return each_row<rm_norm_problem, rm_norm_forward_set>(f, f.sets[0] * f.sets[1], f.outer * f.inner, 3, rm_norm_accurate,
                                                        stream);
}

rm_status rm_cuda_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                     const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean,
                                     const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv, double eps, void *dx,
                                     const ptrdiff_t *sdx, rm_cuda_stream stream) {
  rm_norm_problem f;
  const rm_norm_call call = {RM_NORM_GRADIENT, format,         sets,     eps, {g, sg}, {x, sx}, {w, sw}, {},
                             {mean, sm},       {variance, sv}, {dx, sdx}};
  const rm_status status = rm_norm_check(&f, &call);
  if (status || f.sets[0] == 0) return status;
  return each_row<rm_norm_problem, rm_norm_backward_set>(f, f.sets[0] * f.sets[1], f.outer * f.inner, 4,
                                                         rm_norm_gradient_accurate, stream);
}

rm_status rm_cuda_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                            const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                            const void *variance, const ptrdiff_t *sv, double eps, void *dw,
                                            const ptrdiff_t *sdw, rm_cuda_stream stream) {
  rm_norm_problem f;
  const rm_norm_call call = {RM_NORM_WEIGHT_GRADIENT, format,   sets, eps, {g, sg}, {x, sx}, {}, {}, {mean, sm},
                             {variance, sv},          {dw, sdw}};
  const rm_status status = rm_norm_check(&f, &call);
  return status || f.sets[0] == 0 ? status : weights_of(f, stream);
}
}
