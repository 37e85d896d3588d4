/* The public functions of Kullback-Leibler divergence and its gradient. */
#include <stdlib.h>

#include "../cross_entropy/cancel.h"
#include "kl_div_element.h"

/* t and t - x of e^t (t - x). */
static int exponential(const void *operation, int64_t i, double *key, rm_ball *factor) {
  const rm_dd_loss *f = operation;
  rm_ball x;
  if (!rm_kl_holds(f, i, 0)) return 0;
  *key = rm_dd_loss_read(f, RM_KL_T, i);
  rm_ball_set(factor, *key, RM_BALL_LIMBS);
  rm_ball_set(&x, rm_dd_loss_read(f, RM_KL_X, i), RM_BALL_LIMBS);
  rm_ball_sub(factor, factor, &x);
  return 1;
}

/* The maximum of t over the terms that are not known to cancel, or -infinity. */
static double max_target(const rm_dd_loss *f) {
  double m = -rm_dd_ball_infinity();
  for (int64_t i = 0; i < f->n; i++) {
    const double t = rm_dd_loss_read(f, RM_KL_T, i);
    if (t > m && t != rm_dd_loss_read(f, RM_KL_X, i) && rm_kl_holds(f, i, 0) && !rm_dd_loss_cancels(f, i)) m = t;
  }
  return m;
}

static uint64_t total(const rm_dd_loss *f, rm_row_state *state) {
  rm_dd_loss terms = *f;
  rm_dd_ball v;
  uint64_t bits;
  if (rm_kl_without_terms(f, &bits, state)) return bits;
  if (!f->option) {
    terms.rational = rm_kl_logarithms_cancel(f);
    return rm_decide(rm_kl_total_dd_ball, rm_kl_total_ball, &terms, 0, f->format, state);
  }
  terms.top = max_target(f);
  rm_kl_total_dd_ball(&v, &terms, 0, 0);
  if (rm_dd_ball_round(&v, f->format, RM_NEAREST, &state->flags, &bits)) {
    state->tiers.double_double++;
    return bits;
  }
  char *cancels = rm_parts_that_cancel(f->n, exponential, f, state);
  if (!cancels) return rm_nan_bits(f->format);
  terms.cancels = cancels;
  terms.top = max_target(&terms);
  bits = rm_decide_in_balls(rm_kl_total_ball, &terms, 0, INT64_MIN, f->format, state);
  free(cancels);
  return bits;
}

rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x, ptrdiff_t stride_x,
                    const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) {
  rm_dd_loss f = {.format = format,
                  .reduction = reduction,
                  .option = log_target,
                  .n = n,
                  .count = count,
                  .in = {[RM_KL_X] = rm_single_row(x, stride_x), [RM_KL_T] = rm_single_row(t, stride_t)},
                  .out = rm_single_row(out, stride_out)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_kl_check(&f);
  if (status || (n == 0 && reduction == RM_REDUCTION_NONE)) return status;
  const rm_entropy_kind kind = log_target ? RM_ENTROPY_KL_LOG : RM_ENTROPY_KL;
  return reduction == RM_REDUCTION_NONE ? rm_dd_loss_each(&f, kind, rm_kl_loss) : rm_dd_loss_total(&f, kind, total);
}

rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                             ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) {
  rm_dd_loss f = {.format = format,
                  .reduction = reduction,
                  .option = log_target,
                  .n = n,
                  .count = count,
                  .in = {[RM_KL_T] = rm_single_row(t, stride_t), [RM_KL_G] = rm_single_row(g, stride_g)},
                  .out = rm_single_row(dx, stride_dx)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_kl_gradient_check(&f);
  const rm_entropy_kind kind = log_target ? RM_ENTROPY_KL_LOG_GRADIENT : RM_ENTROPY_KL_GRADIENT;
  return status || n == 0 ? status : rm_dd_loss_each(&f, kind, rm_kl_gradient);
}
