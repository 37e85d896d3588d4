/* Norms and their gradients: the fast phase, over the CPU's functions of a set (nn/norm). */
extern "C" {
#include "../common/overlap.h"
}

#include "norms.h"

#include "rows_fast.h"

#include "../../include/repmath/cuda_nn.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/totals.inl"

#include "../nn/norm/normalize.inl"

#include "../nn/norm/found_row.h"
#include "../nn/norm/weight_row.h"

RM_STATIC int64_t rm_rows_decide(const rm_norm_share *s) { return s->n; } /* the accurate phase alone runs shares */
RM_STATIC void rm_rows_add(const rm_norm_share *, rm_dd_ball *sum, rm_dd_ball *second) {
  rm_dd_ball_unknown(sum);
  rm_dd_ball_unknown(second);
}

#include "norms_weight.h"
#include "norms_whole.h"

namespace {

enum { FOUND_EPS = 5, FOUND_MEAN, FOUND_ROOT, FOUND_MOMENTUM, FOUND_FORMAT, FOUND_RUNNING };

/* Whether n elements at `to` have no byte of the sets of x. */
bool is_apart(const rm_norm_problem &f, const char *to, int64_t n, int size) {
  const int64_t sizes[] = {f.sets[0], f.sets[1], f.outer, f.inner};
  const ptrdiff_t strides[] = {f.x.set[0], f.x.set[1], f.x.outer, f.x.inner}, one[] = {size};
  const rm_grid x = {f.x.base, 4, sizes, strides}, out = {const_cast<char *>(to), 1, &n, one};
  return !rm_spans_meet(&out, size, &x, rm_size_of(f.format));
}

rm_status check_found(const rm_norm_found &s) {
  const int64_t n = s.f.sets[0] * s.f.sets[1];
  const char *const to[] = {s.mean, s.root, s.running[0], s.running[1]};
  const int at[] = {FOUND_MEAN, FOUND_ROOT, FOUND_RUNNING, FOUND_RUNNING + 1};
  for (int k = 0; k < 4; k++) {
    const int size = rm_size_of(k < 2 ? s.format : s.running_format);
    if (!to[k]) continue;
    if (!is_apart(s.f, to[k], n, size)) return RM_STATUS(RM_ERR_OVERLAP, at[k]);
    for (int j = 0; j < k; j++) {
      const uintptr_t a = reinterpret_cast<uintptr_t>(to[j]), b = reinterpret_cast<uintptr_t>(to[k]);
      if (to[j] && a < b + static_cast<uintptr_t>(n * size) &&
          b < a + static_cast<uintptr_t>(n * rm_size_of(j < 2 ? s.format : s.running_format)))
        return RM_STATUS(RM_ERR_OVERLAP, at[k]);
    }
  }
  return RM_OK;
}

} // namespace

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
                                                        stream, whole_norm);
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

rm_status rm_cuda_norm_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, double eps,
                                  void *mean, void *root, double momentum, int running_format, void *running_mean,
                                  void *running_variance, rm_cuda_stream stream) {
  rm_norm_found s = {};
  const rm_norm_call call = {RM_NORM, format, sets, 0.0, {}, {x, sx}, {}, {}, {}, {}, {x, sx}};
  rm_status status = rm_norm_check(&s.f, &call);
  if ((status & 0xff) == RM_ERR_OVERLAP) return RM_STATUS(RM_ERR_OVERLAP, 3); /* elements of x share memory */
  if (status) return status;
  if (!rm_is_finite(eps)) return RM_STATUS(RM_ERR_RANGE, FOUND_EPS);
  if (!rm_is_finite(momentum)) return RM_STATUS(RM_ERR_RANGE, FOUND_MOMENTUM);
  if (running_format < 0 || running_format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FOUND_FORMAT);
  if (s.f.sets[0] == 0) return RM_OK;
  if (running_variance && s.f.outer * s.f.inner < 2) return RM_STATUS(RM_ERR_SIZE, 2);
  if (mean && !s.f.centered) return RM_STATUS(RM_ERR_RANGE, FOUND_MEAN);
  s.format = format, s.f.eps = eps, s.mean = static_cast<char *>(mean), s.root = static_cast<char *>(root);
  s.momentum = momentum, s.running_format = running_format;
  s.running[0] = static_cast<char *>(running_mean), s.running[1] = static_cast<char *>(running_variance);
  status = check_found(s);
  if (status) return status;
  return each_row<rm_norm_found, rm_norm_found_set>(s, s.f.sets[0] * s.f.sets[1], s.f.outer * s.f.inner, 1,
                                                    rm_norm_found_accurate, stream);
}
}
