/* Norms: the accurate phase of undecided sets, and of the gradient with respect to weights. */
#include "norms.h"

#define RM_SHARE rm_norm_share
#define RM_SHARE_DECIDE rm_norm_decide
#define RM_SHARE_ADD rm_norm_add
#include "rows_accurate.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/totals.inl"

#include "../nn/norm/normalize.inl"

#include "../nn/norm/found_row.h"
#include "../nn/norm/weight_row.h"

#include "norms_decide.h"

enum { RM_NORM_STACK = 128 << 10, RM_WEIGHT_STACK = RM_NORM_STACK + (48 << 10) }; /* a weight's groups of parts */

rm_status rm_norm_accurate(const rm_norm_problem &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_norm_problem, rm_norm_forward_set>(f, undecided.n, f.outer * f.inner, 3, RM_NORM_STACK, undecided,
                                                             stream);
}
rm_status rm_norm_gradient_accurate(const rm_norm_problem &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_norm_problem, rm_norm_backward_set>(f, undecided.n, f.outer * f.inner, 4, RM_NORM_STACK, undecided,
                                                              stream);
}
rm_status rm_norm_found_accurate(const rm_norm_found &s, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_norm_found, rm_norm_found_set>(s, undecided.n, s.f.outer * s.f.inner, 1, RM_NORM_STACK, undecided,
                                                         stream);
}

namespace {

RM_STATIC void finish_column(const void *operation, int64_t i, rm_row_state *state) {
  const rm_norm_weights *w = static_cast<const rm_norm_weights *>(operation);
  const rm_weight_range range = rm_norm_weight_column(&w->f, i);
  rm_write_bits(w->f.y.base + i * w->f.y.inner, rm_norm_weight_accurate(w, &range, state), w->format);
}

} // namespace

rm_status rm_norm_weight_statistics_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided,
                                             cudaStream_t stream) {
  return accurate_rows<rm_norm_weights, rm_norm_weight_statistics>(w, undecided.n, w.f.outer * w.f.inner, 4, RM_NORM_STACK,
                                                                   undecided, stream);
}
rm_status rm_norm_weight_channel_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_norm_weights, rm_norm_weight_channel>(w, undecided.n, w.f.outer * w.f.inner, 4, RM_WEIGHT_STACK,
                                                                undecided, stream);
}
rm_status rm_norm_columns_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_norm_weights, finish_column>(w, undecided.n, w.f.inner, 4, RM_WEIGHT_STACK, undecided, stream);
}
