/* Functions that the losses in double-double share (rm_dd_loss). It is also device code. */
#pragma once

#include <stddef.h>

#include "../../../crlibm/fp/exact.h"
#include "../../common/elements.h"
#include "../../reduce/superaccumulator.h"
#include "../rows/decide.h"
#include "args.h"

#define RM_NUM dd_ball
#include "../rows/tail.inc"
#include "dd_loss.inc"
#undef RM_NUM
#define RM_NUM ball
#include "../rows/tail.inc"
#include "dd_loss.inc"
#undef RM_NUM

RM_FN double rm_dd_loss_read(const rm_dd_loss *f, int k, int64_t i) {
  return f->in[k].base ? rm_read_element(f->in[k].base + i * f->in[k].stride, f->format) : 1.0;
}

RM_FN int rm_dd_loss_cancels(const rm_dd_loss *f, int64_t i) { return f->cancels && f->cancels[i]; }

RM_FORMULA int rm_dd_loss_nan(const rm_dd_loss *f, int64_t i) {
  int found = 0;
  for (int k = 0; k < RM_DD_LOSS_INPUTS; k++) {
    const double v = rm_dd_loss_read(f, k, i);
    found |= rm_is_nan(v);
  }
  return found;
}

RM_FORMULA int rm_dd_loss_signals(const rm_dd_loss *f, int64_t i) {
  int found = 0;
  for (int k = 0; k < RM_DD_LOSS_INPUTS; k++)
    found |= f->in[k].base && rm_is_signalling(rm_read_bits(f->in[k].base + i * f->in[k].stride, f->format), f->format);
  return found;
}

/* The result v where the formula does not hold: NaN, an infinity, or 0. */
RM_FORMULA uint64_t rm_dd_loss_limit(const rm_dd_loss *f, int64_t i, double v, rm_row_state *state) {
  if (rm_dd_loss_signals(f, i) || (rm_is_nan(v) && !rm_dd_loss_nan(f, i))) state->flags |= RM_FLAG_INVALID;
  if (rm_is_nan(v)) return rm_nan_bits(f->format);
  return rm_is_finite(v) ? 0 : rm_signed_infinity(v < 0.0, f->format);
}

#if RM_DEVICE
RM_FN void rm_dd_loss_store(const rm_dd_loss *f, int64_t i, uint64_t bits, const rm_row_state *state) {
  if (!state->deferred) rm_write_bits(f->out.base + i * f->out.stride, bits, f->format);
}
#endif

/* What such a v is in a sum: RM_ACC_*. */
RM_FORMULA uint32_t rm_dd_loss_class(const rm_dd_loss *f, int64_t i, double v) {
  uint32_t classes = rm_dd_loss_signals(f, i) ? RM_ACC_SNAN : 0;
  if (rm_is_nan(v)) classes |= rm_dd_loss_nan(f, i) ? RM_ACC_QNAN : RM_ACC_ZERO_INF;
  if (!rm_is_nan(v)) classes |= rm_is_finite(v) ? 0u : v < 0.0 ? RM_ACC_NINF : RM_ACC_PINF;
  return classes;
}

/* Whether something other than finite terms makes a total of these classes; then to *bits. 0/0 is a NaN. */
RM_STATIC int rm_dd_loss_without_terms(const rm_dd_loss *f, uint32_t classes, uint64_t *bits, rm_row_state *state) {
  if (f->n == 0 && f->count == 0) classes = RM_ACC_ZERO_INF;
  *bits = classes ? rm_superacc_round_classes(classes, f->format, &state->flags) : 0;
  return classes != 0 || f->n == 0;
}
