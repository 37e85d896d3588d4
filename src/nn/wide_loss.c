#include "wide_loss.h"

#include "../../include/repmath/nn.h"
#include "../../crlibm/fp/exact.h"
#include "../api/env.h"
#include "../reduce/superaccumulator.h"

enum { BLOCK = 256 };

static int any_nan(const rm_wide_loss *f, int64_t i) {
  int found = 0;
  for (int k = 0; k < RM_WIDE_LOSS_INPUTS; k++) {
    const double v = rm_wide_loss_read(f, k, i);
    found |= v != v;
  }
  return found;
}

static int signals(const rm_wide_loss *f, int64_t i) {
  int found = 0;
  for (int k = 0; k < RM_WIDE_LOSS_INPUTS; k++)
    found |= f->in[k].base && rm_is_signalling(rm_read_bits(f->in[k].base + i * f->in[k].stride, f->format), f->format);
  return found;
}

static uint64_t one(const rm_wide_loss *f, int64_t i, int gradient, rm_row_state *state) {
  const rm_wide_loss_kind *kind = f->kind;
  if (kind->holds(f, i, gradient))
    return rm_decide(gradient ? kind->gradient_near : kind->value_near, gradient ? kind->gradient_ball : kind->value_ball,
                     (void *)(uintptr_t)f, i, f->format, state);
  const double v = kind->limit(f, i, gradient);
  if (signals(f, i) || (v != v && !any_nan(f, i))) state->flags |= RM_FLAG_INVALID;
  if (v != v) return rm_nan_bits(f->format);
  return v - v == 0.0 ? 0 : rm_signed_infinity(v < 0.0, f->format);
}

static void block_of(const rm_wide_loss *f, int64_t block, int gradient, rm_row_state *state) {
  const int64_t end = f->n - block * BLOCK < BLOCK ? f->n : (block + 1) * BLOCK;
  for (int64_t i = block * BLOCK; i < end; i++) rm_write_bits(f->out.base + i * f->out.stride, one(f, i, gradient, state), f->format);
}
static void values(const void *f, int64_t block, rm_row_state *state) { block_of(f, block, 0, state); }
static void gradients(const void *f, int64_t block, rm_row_state *state) { block_of(f, block, 1, state); }

rm_status rm_wide_loss_begin(rm_wide_loss *f, const rm_wide_loss_kind *kind, int format, int reduction, int64_t n, int at_n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, at_n);
  if (!rm_kernels_get()) return RM_ERR_ISA;
  *f = (rm_wide_loss){.kind = kind, .format = format, .reduction = reduction, .n = n, .count = reduction == RM_REDUCTION_MEAN ? n : 1};
  return RM_OK;
}

rm_status rm_wide_loss_each(rm_wide_loss *f, int gradient, int at_out) {
  for (int k = 0; k < RM_WIDE_LOSS_INPUTS; k++)
    if (!rm_rows_are_apart(f->out, 1, f->n, rm_size_of(f->format), f->in[k], f->in[k].base ? f->n : 0))
      return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return rm_each_row((f->n + BLOCK - 1) / BLOCK, BLOCK, 1, gradient ? gradients : values, f);
}

void rm_wide_loss_total(rm_wide_loss *f) {
  rm_row_state state = {0};
  uint64_t bits = 0;
  uint32_t classes = f->n == 0 && f->count == 0 ? RM_ACC_ZERO_INF : 0; /* 0/0 */
  const rm_env env = rm_env_enter();
  for (int64_t i = 0; i < f->n; i++) {
    if (f->kind->holds(f, i, 0)) continue;
    const double v = f->kind->limit(f, i, 0);
    if (signals(f, i)) classes |= RM_ACC_SNAN;
    if (v != v) classes |= any_nan(f, i) ? RM_ACC_QNAN : RM_ACC_ZERO_INF;
    if (v == v) classes |= v - v == 0.0 ? 0u : v < 0.0 ? RM_ACC_NINF : RM_ACC_PINF;
  }
  if (classes)
    bits = rm_superacc_round_classes(classes, f->format, &state.flags);
  else if (f->n)
    bits = rm_decide(f->kind->total_near, f->kind->total_ball, f, 0, f->format, &state);
  rm_write_bits(f->out.base, bits, f->format);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
}
