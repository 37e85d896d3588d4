/* Losses in double-double on the host: threads over elements, and totals. */
#include "args.h"

#include "../../runtime/env.h"
#include "../../common/elements.h"

enum { BLOCK = 256 };

typedef struct {
  const rm_dd_loss *f;
  rm_dd_loss_fn *one;
} each_loss;

static void values(const void *operation, int64_t block, rm_row_state *state) {
  const each_loss *each = operation;
  const rm_dd_loss *f = each->f;
  const int64_t end = f->n - block * BLOCK < BLOCK ? f->n : (block + 1) * BLOCK;
  for (int64_t i = block * BLOCK; i < end; i++)
    rm_write_bits(f->out.base + i * f->out.stride, each->one(f, i, state), f->format);
}

rm_status rm_dd_loss_each(const rm_dd_loss *f, rm_dd_loss_fn *one) {
  const each_loss each = {f, one};
  return rm_each_row((f->n + BLOCK - 1) / BLOCK, BLOCK, 1, values, &each);
}

rm_status rm_dd_loss_total(const rm_dd_loss *f, rm_dd_loss_total_fn *total) {
  rm_row_state state = {0};
  const rm_env env = rm_env_enter();
  rm_write_bits(f->out.base, total(f, &state), f->format);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
  return rm_row_status(state.failure);
}
