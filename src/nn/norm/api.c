/* The public norms. */
#include "normalize.h"

/* set: the function of a set, which takes `buffers`. */
static rm_status run(const rm_norm_call *call, int buffers, rm_row_fn *set) {
  rm_norm_problem f;
  rm_row_balls balls;
  const rm_row_balls *const asked = rm_row_balls_asked(&balls, call->out.base);
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_norm_check(&f, call);
  f.balls = asked;
  if (!status && asked && f.sets[0] && (f.y.inner != rm_size_of(f.format) || f.format == RM_FORMAT_F64))
    status = RM_ERR_RANGE;
  return status || f.sets[0] == 0 ? status : rm_each_row(f.sets[0] * f.sets[1], rm_norm_length(&f), buffers, set, &f);
}

rm_status rm_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                       const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                       const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy) {
  return run(&(rm_norm_call){RM_NORM, format, sets, eps, .x = {x, sx}, .w = {w, sw}, .b = {b, sb}, .mean = {mean, sm},
                             .variance = {variance, sv}, .out = {y, sy}},
             3, rm_norm_forward_set);
}

rm_status rm_normalize_with_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx,
                                       const void *w, const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, double eps,
                                       void *y, const ptrdiff_t *sy, void *mean, void *root) {
  return run(&(rm_norm_call){RM_NORM_AND_STATISTICS, format, sets, eps, .x = {x, sx}, .w = {w, sw}, .b = {b, sb},
                             .out = {y, sy}, .found_mean = mean, .found_root = root},
             3, rm_norm_forward_set);
}

rm_status rm_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean,
                                const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv, double eps, void *dx,
                                const ptrdiff_t *sdx) {
  return run(&(rm_norm_call){RM_NORM_GRADIENT, format, sets, eps, .g = {g, sg}, .x = {x, sx}, .w = {w, sw},
                             .mean = {mean, sm}, .variance = {variance, sv}, .out = {dx, sdx}},
             4, rm_norm_backward_set);
}

rm_status rm_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                       const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                       const void *variance, const ptrdiff_t *sv, double eps, void *dw,
                                       const ptrdiff_t *sdw) {
  const rm_norm_call call = {
      RM_NORM_WEIGHT_GRADIENT,    format,          sets, eps, .g = {g, sg}, .x = {x, sx}, .mean = {mean, sm},
      .variance = {variance, sv}, .out = {dw, sdw}};
  rm_norm_problem f;
  rm_row_balls balls;
  const rm_row_balls *const asked = rm_row_balls_asked(&balls, dw);
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_norm_check(&f, &call);
  f.balls = asked;
  if (!status && asked && f.sets[0] && f.format == RM_FORMAT_F64) status = RM_ERR_RANGE;
  return status || f.sets[0] == 0 ? status : rm_norm_backward_weights(&f);
}
