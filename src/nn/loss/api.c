/* The public regression losses and their gradients.
 *
 * A sum is evaluated block by block: the terms in binary64, or in two parts, are added by compensated sums whose bounds, with
 * those of the terms, go into numbers of dd_ball.h, which are added and divided. A sum that this leaves undecided is
 * evaluated exactly (loss/element.h). */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/env.h"
#include "element.h"
#include "parts.h"

enum { BLOCK = RM_PAIR_BLOCK, BUFFERS = 6 };

typedef struct {
  rm_pair_loss f; /* row: the bytes of a block */
  rm_dd_ball scale;  /* factor/(divisor count) */
  int tier;          /* of a sum: -1 and 0 in binary64, 1 in two parts */
  rm_pair_run run; /* of contiguous arrays, but for x, y and n; b is 0 where the one pass of loss/pairs.h does not serve */
  rm_dd_ball *parts; /* the sums of blocks */
} pair_blocks;

static int64_t length_of(const rm_pair_loss *f, int64_t block) {
  return f->n - block * BLOCK < BLOCK ? f->n - block * BLOCK : BLOCK;
}

/* Loads a block; g is NULL where there is none, and a single number is repeated. */
static rm_term_block load(const rm_pair_loss *f, int64_t block, const rm_row_state *state) {
  const int64_t n = length_of(f, block);
  double *x = rm_row_buffer(state, 0), *y = rm_row_buffer(state, 1), *g = f->g.base ? rm_row_buffer(state, 2) : NULL;
  state->k->load(n, rm_row_at(&f->x, block), f->x.stride, f->format, 0.0, x);
  state->k->load(n, rm_row_at(&f->y, block), f->y.stride, f->format, 0.0, y);
  if (g) state->k->load(n, rm_row_at(&f->g, block), f->g.stride, f->format, 0.0, g);
  return (rm_term_block){
      n, f->kind, x, y, g, f->b, 1.0, 0.0, 0, rm_row_buffer(state, 3), rm_row_buffer(state, 4), rm_row_buffer(state, 5)};
}

/* Whether the arrays of a loss are such as loss/pairs.h takes. */
static int is_run(const rm_pair_loss *f) {
  const int size = rm_size_of(f->format);
  return f->format != RM_F64 && f->x.stride == size && f->y.stride == size && f->n > 0 && f->b >= 0x1p-200 &&
         (f->b <= 0x1p200 || f->b > 0x1.fffffffffffffp1023);
}
static rm_pair_run run_of(const pair_blocks *b, int64_t block) {
  rm_pair_run run = b->run;
  run.n = length_of(&b->f, block), run.x = rm_row_at(&b->f.x, block), run.y = rm_row_at(&b->f.y, block);
  return run;
}

static double number_at(const rm_row_array *a, int64_t i, int format) {
  return rm_read_element(a->base + i * a->stride, format);
}

static void each_element(const void *operation, int64_t block, rm_row_state *state) {
  const pair_blocks *b = operation;
  const rm_pair_loss *f = &b->f;
  const int size = rm_size_of(f->format);
  if (b->run.b > 0.0) {
    const rm_pair_run run = run_of(b, block);
    char *const to = rm_row_at(&f->out, block);
    const int64_t left = state->k->losses->pair_gradient(&run, to, state->undecided);
    state->tiers.fast += run.n - left;
    for (int64_t j = 0; j < left; j++) {
      const int64_t i = block * BLOCK + state->undecided[j];
      const double x = number_at(&f->x, i, f->format), y = number_at(&f->y, i, f->format);
      rm_write_bits(to + state->undecided[j] * size, rm_pair_element(f, i, x, y, number_at(&f->g, 0, f->format), state),
                    f->format);
    }
    return;
  }
  rm_term_block t = load(f, block, state);
  char *out = rm_row_out(state, &f->out, block, size);
  int64_t undecided = t.n;
  if (rm_pair_scale(f, &b->scale, &t)) {
    if (f->format == RM_F64) {
      state->k->losses->terms_dd(&t);
      /* out need not be aligned. */
      undecided = state->k->losses->round_dd(t.n, t.t, t.low, t.err, t.t, state->undecided);
      memcpy(out, t.t, (size_t)t.n * sizeof(double));
    } else {
      const rm_row_store s = {.n = t.n, .u = t.t, .v = t.err, .fmt = f->format, .out = out, .undecided = state->undecided};
      state->k->losses->terms(&t);
      undecided = state->k->store(RM_ROW_GIVEN, &s);
    }
  } else {
    for (int64_t i = 0; i < t.n; i++) state->undecided[i] = i;
  }
  state->tiers.fast += t.n - undecided;
  for (int64_t j = 0; j < undecided; j++) {
    const int64_t i = state->undecided[j];
    rm_write_bits(out + i * size, rm_pair_element(f, block * BLOCK + i, t.x[i], t.y[i], t.g ? t.g[i] : 1.0, state),
                  f->format);
  }
  rm_row_spread(state, 0, &f->out, block, t.n, f->format);
}

static void sum_block(const void *operation, int64_t block, rm_row_state *state) {
  const pair_blocks *b = operation;
  if (b->tier < 0) {
    const rm_pair_run run = run_of(b, block);
    const double sum = state->k->losses->pair_sum(&run);
    rm_dd_ball_finish(&b->parts[block], sum, 0.0, sum != 0.0, sum * RM_PAIR_SUM_ERR);
    return;
  }
  const rm_term_block t = load(&b->f, block, state);
  if (b->tier) state->k->losses->terms_dd(&t);
  else state->k->losses->terms(&t);
  rm_loss_part(&b->parts[block], t.n, t.t, b->tier ? t.low : NULL, t.err);
}

static pair_blocks blocks_of(const rm_pair_loss *f) {
  pair_blocks b = {.f = *f, .run = {.format = f->format, .kind = f->kind, .b = 0.0}};
  b.f.g.row = f->g.stride * BLOCK, b.f.x.row = f->x.stride * BLOCK;
  b.f.y.row = f->y.stride * BLOCK, b.f.out.row = f->out.stride * BLOCK;
  return b;
}

/* Adds what is not finite among n elements from the first on. */
static uint32_t classes_of(const pair_blocks *b) {
  const rm_pair_loss *f = &b->f;
  rm_pair_run run = b->run;
  run.n = f->n, run.x = f->x.base, run.y = f->y.base;
  return rm_nn_kernels()->losses->pair_classes(&run);
}

static rm_status reduce(const rm_pair_loss *f) {
  pair_blocks b = blocks_of(f);
  if (is_run(f)) b.run.b = f->b;
  const int64_t blocks = (f->n + BLOCK - 1) / BLOCK;
  const int size = rm_size_of(f->format);
  rm_row_state state = {0};
  uint64_t bits = 0;
  int decided = f->n == 0;
  if (f->n == 0 && f->reduction == RM_REDUCTION_MEAN) bits = rm_nan_bits(f->format), state.flags = RM_FLAG_INVALID; /* 0/0 */
  if (!decided && !(b.parts = malloc((size_t)blocks * sizeof *b.parts))) return RM_ERR_MEMORY;
  for (b.tier = f->format == RM_F64 ? 1 : b.run.b > 0.0 ? -1 : 0; !decided && b.tier < 2; b.tier++) {
    const rm_status status = rm_each_row(blocks, f->n < BLOCK ? f->n : BLOCK, BUFFERS, sum_block, &b);
    if (status) {
      free(b.parts);
      return status;
    }
    const rm_env env = rm_env_enter();
    rm_dd_ball sum = b.parts[0];
    for (int64_t k = 1; k < blocks; k++) rm_dd_ball_add(&sum, &sum, &b.parts[k]);
    if (sum.err == rm_dd_ball_infinity()) b.tier = 2; /* a term is not finite, and no tier decides it */
    rm_pair_divided_dd_ball(&sum, f, 0);
    decided = rm_dd_ball_round(&sum, f->format, RM_NEAREST, &state.flags, &bits);
    rm_env_leave(env, 0);
    if (decided) *(b.tier <= (f->format == RM_F64) ? &state.tiers.fast : &state.tiers.double_double) = 1;
  }
  free(b.parts);
  const rm_env env = rm_env_enter();
  if (!decided) {
    rm_superaccumulator acc;
    rm_superacc_clear(&acc);
    if (b.run.b > 0.0) acc.classes |= classes_of(&b);
    else
      for (int64_t i = 0; i < f->n; i++)
        if (!rm_pair_is_finite(f, i)) rm_pair_feed(f, i, &acc);
    for (int64_t i = 0; !acc.classes && i < f->n; i++) rm_pair_feed(f, i, &acc); /* beside these finite terms do not count */
    bits = rm_pair_total(f, &acc, &state);
  }
  memcpy(f->out.base, &bits, (size_t)size);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
  return rm_row_status(state.failure);
}

static rm_status each(const rm_pair_loss *f) {
  pair_blocks b = blocks_of(f);
  const rm_env env = rm_env_enter();
  rm_dd_ball_set(&b.scale, 1.0, 0);
  rm_pair_divided_dd_ball(&b.scale, f, 0);
  rm_term_block t = {0};
  const double g = f->g.base && f->g.stride == 0 ? number_at(&f->g, 0, f->format) : 0.0, c = b.scale.hi * g;
  const int apart = f->out.base != f->x.base && f->out.base != f->y.base; /* undecided elements are read again */
  if (f->kind == RM_TERM_CLAMPED && f->format == RM_F32 && f->out.stride == 4 && apart && g != 0.0 && rm_is_finite(g) &&
      is_run(f) && rm_pair_scale(f, &b.scale, &t)) {
    b.run.b = f->b, b.run.c = c;
    b.run.exact = t.exact && (rm_bits64(c) << 12) == 0;
  }
  rm_env_leave(env, 0);
  return rm_each_row((f->n + BLOCK - 1) / BLOCK, f->n < BLOCK ? f->n : BLOCK, BUFFERS, each_element, &b);
}

rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                             const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out) {
  rm_pair_loss f = {.loss = loss,
                    .format = format,
                    .reduction = reduction,
                    .p = p,
                    .n = n,
                    .x = rm_single_row(x, stride_x),
                    .y = rm_single_row(y, stride_y),
                    .out = rm_single_row(out, stride_out)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_pair_loss_check(&f);
  if (status || (n == 0 && reduction == RM_REDUCTION_NONE)) return status;
  return reduction == RM_REDUCTION_NONE ? each(&f) : reduce(&f);
}

rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                      ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                      ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx) {
  rm_pair_loss f = {.loss = loss,
                    .format = format,
                    .reduction = reduction,
                    .p = p,
                    .n = n,
                    .g = rm_single_row(g, stride_g),
                    .x = rm_single_row(x, stride_x),
                    .y = rm_single_row(y, stride_y),
                    .out = rm_single_row(dx, stride_dx)};
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_status status = rm_pair_gradient_check(&f);
  return status || n == 0 ? status : each(&f);
}
