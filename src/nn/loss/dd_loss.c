/* Losses of entropies on the host: threads over blocks of elements, and totals. Below binary64 terms are evaluated in
 * binary64 first (loss/entropy_step.h); what that leaves undecided, and all of binary64, begins in double-double. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/env.h"
#include "dd_loss_element.h"
#include "parts.h"

enum { BLOCK = 256, BUFFERS = RM_ENTROPY_INPUTS + 2 };

typedef struct {
  rm_dd_loss f; /* row: the bytes of a block */
  rm_entropy_kind kind;
  rm_dd_loss_fn *one;
  rm_dd_ball *parts; /* the sums of blocks */
} loss_blocks;

static loss_blocks blocks_of(const rm_dd_loss *f, rm_entropy_kind kind) {
  loss_blocks b = {.f = *f, .kind = kind};
  for (int k = 0; k < RM_DD_LOSS_INPUTS; k++) b.f.in[k].row = f->in[k].stride * BLOCK;
  b.f.out.row = f->out.stride * BLOCK;
  return b;
}

/* The terms of a block, in the buffers. */
static rm_entropy_block terms_of(const loss_blocks *b, int64_t block, const rm_row_state *state) {
  const rm_dd_loss *f = &b->f;
  rm_entropy_block p = {.n = f->n - block * BLOCK < BLOCK ? f->n - block * BLOCK : BLOCK,
                        .kind = b->kind,
                        .count = (double)f->count,
                        .exact = (f->count & (f->count - 1)) == 0,
                        .t = rm_row_buffer(state, RM_ENTROPY_INPUTS),
                        .err = rm_row_buffer(state, RM_ENTROPY_INPUTS + 1)};
  for (int k = 0; k < RM_DD_LOSS_INPUTS; k++) {
    double *to = f->in[k].base ? rm_row_buffer(state, k) : NULL;
    if (to) state->k->load(p.n, rm_row_at(&f->in[k], block), f->in[k].stride, f->format, 0.0, to);
    p.in[k] = to;
  }
  state->k->losses->entropies(&p);
  return p;
}

static void each_element(const void *operation, int64_t block, rm_row_state *state) {
  const loss_blocks *b = operation;
  const rm_dd_loss *f = &b->f;
  const int64_t first = block * BLOCK, n = f->n - first < BLOCK ? f->n - first : BLOCK;
  const int size = rm_size_of(f->format);
  char *out = (char *)rm_row_buffer(state, state->buffers); /* what is undecided reads inputs, of which out may be one */
  int64_t undecided = n;
  if (f->format != RM_F64) {
    const rm_entropy_block p = terms_of(b, block, state);
    const rm_row_store s = {.n = n, .u = p.t, .v = p.err, .fmt = f->format, .out = out, .undecided = state->undecided};
    undecided = state->k->store(RM_ROW_GIVEN, &s);
  } else {
    for (int64_t i = 0; i < n; i++) state->undecided[i] = i;
  }
  state->tiers.fast += n - undecided;
  for (int64_t j = 0; j < undecided; j++) {
    const int64_t i = state->undecided[j];
    rm_write_bits(out + i * size, b->one(f, first + i, state), f->format);
  }
  if (f->out.stride == size) memcpy(rm_row_at(&f->out, block), out, (size_t)(n * size));
  else rm_row_spread(state, 0, &f->out, block, n, f->format);
}

rm_status rm_dd_loss_each(const rm_dd_loss *f, rm_entropy_kind kind, rm_dd_loss_fn *one) {
  loss_blocks b = blocks_of(f, kind);
  b.one = one;
  return rm_each_row((f->n + BLOCK - 1) / BLOCK, f->n < BLOCK ? f->n : BLOCK, BUFFERS, each_element, &b);
}

static void sum_block(const void *operation, int64_t block, rm_row_state *state) {
  const loss_blocks *b = operation;
  const rm_entropy_block p = terms_of(b, block, state);
  rm_loss_part(&b->parts[block], p.n, p.t, NULL, p.err);
}

/* The total by terms in binary64, to *bits where that is decided; without memory for the blocks' sums it is not. */
static rm_status fast_total(const rm_dd_loss *f, rm_entropy_kind kind, rm_row_state *state, uint64_t *bits, int *decided) {
  const int64_t blocks = (f->n + BLOCK - 1) / BLOCK;
  loss_blocks b = blocks_of(f, kind);
  b.parts = malloc((size_t)blocks * sizeof *b.parts);
  if (!b.parts) return RM_OK;
  const rm_status status = rm_each_row(blocks, f->n < BLOCK ? f->n : BLOCK, BUFFERS, sum_block, &b);
  if (!status) {
    const rm_env env = rm_env_enter();
    rm_dd_ball sum = b.parts[0];
    for (int64_t k = 1; k < blocks; k++) rm_dd_ball_add(&sum, &sum, &b.parts[k]);
    if (sum.err < rm_dd_ball_infinity()) {
      rm_dd_loss_counted_dd_ball(&sum, f->count, 0);
      *decided = rm_dd_ball_round(&sum, f->format, RM_NEAREST, &state->flags, bits);
    }
    state->tiers.fast += *decided;
    rm_env_leave(env, 0);
  }
  free(b.parts);
  return status;
}

rm_status rm_dd_loss_total(const rm_dd_loss *f, rm_entropy_kind kind, rm_dd_loss_total_fn *total) {
  rm_row_state state = {0};
  uint64_t bits = 0;
  int decided = 0;
  const rm_status status = f->format != RM_F64 && f->n ? fast_total(f, kind, &state, &bits, &decided) : RM_OK;
  if (status) return status;
  const rm_env env = rm_env_enter();
  if (!decided) bits = total(f, &state);
  rm_write_bits(f->out.base, bits, f->format);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
  return rm_row_status(state.failure);
}
