/* The public functions of binary cross entropy with logits and its gradient. */
#include <stdlib.h>

#include "bce_element.h"
#include "../cross_entropy/cancel.h"

/* |x| and the factor of its logarithm. */
static int logarithm(const void *operation, int64_t i, double *key, rm_ball *factor) {
  const rm_dd_loss *f = operation;
  if (!rm_bce_holds(f, i, 0)) return 0;
  const rm_bce_element e = rm_bce_read(f, i);
  *key = __builtin_fabs(e.x);
  rm_bce_factor_ball(factor, &e, RM_BALL_LIMBS);
  return 1;
}

static uint64_t total(const rm_dd_loss *f, rm_row_state *state) {
  rm_dd_loss terms = *f;
  rm_dd_ball v;
  uint64_t bits;
  if (rm_bce_without_terms(f, &bits, state)) return bits;
  rm_bce_total_dd_ball(&v, &terms, 0, 0);
  if (rm_dd_ball_round(&v, f->format, RM_NEAREST, &state->flags, &bits)) {
    state->tiers.double_double++;
    return bits;
  }
  char *cancels = rm_parts_that_cancel(f->n, logarithm, f, state);
  if (!cancels) return rm_nan_bits(f->format);
  terms.cancels = cancels;
  bits = rm_decide_in_balls(rm_bce_total_ball, &terms, 0, INT64_MIN, f->format, state);
  free(cancels);
  return bits;
}

rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                             ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                             ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out) {
  rm_dd_loss f = {.format = format,
                  .reduction = reduction,
                  .n = n,
                  .in = {rm_single_row(x, stride_x), rm_single_row(y, stride_y), rm_single_row(weight, stride_weight),
                         rm_single_row(pos_weight, stride_pos_weight)},
                  .out = rm_single_row(out, stride_out)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_bce_check(&f);
  if (status || (n == 0 && reduction == RM_REDUCTION_NONE)) return status;
  return reduction == RM_REDUCTION_NONE ? rm_dd_loss_each(&f, RM_ENTROPY_BCE, rm_bce_loss)
                                        : rm_dd_loss_total(&f, RM_ENTROPY_BCE, total);
}

rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                      ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                      ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                      ptrdiff_t stride_dx) {
  rm_dd_loss f = {.format = format,
                  .reduction = reduction,
                  .n = n,
                  .in = {rm_single_row(x, stride_x), rm_single_row(y, stride_y), rm_single_row(weight, stride_weight),
                         rm_single_row(pos_weight, stride_pos_weight), rm_single_row(g, stride_g)},
                  .out = rm_single_row(dx, stride_dx)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_bce_gradient_check(&f);
  return status || n == 0 ? status : rm_dd_loss_each(&f, RM_ENTROPY_BCE_GRADIENT, rm_bce_gradient);
}
