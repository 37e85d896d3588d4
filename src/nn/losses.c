/* Regression losses: every one is a term of loss_kernels.h divided by a number, and so are the gradients.
 *
 *   loss               term        b     factor  divisor  gradient   factor  divisor
 *   MSE                SQUARE      inf   1       1        CLAMPED    2       1
 *   L1                 ABSOLUTE    -     1       1        SIGN       1       1
 *   SMOOTH_L1, p > 0   SQUARE      p     1/2     p        CLAMPED    1       p
 *   HUBER              SQUARE      p     1/2     1        CLAMPED    1       1
 *
 * A sum: terms of a block in binary64, or in two parts, added by compensated sums whose bounds, with those of the terms, go into numbers
 * of near.h; they are joined and divided there. What that leaves open is decided by the exact sum of products in a superaccumulator:
 * (x - y)^2 = x x - 2 x y + y y, b (2 |d| - b) = 2 b |x - y| - b b.
 *
 * All values are rational, quotients of integers below 2^13000 in units of a power of two: one that is not a boundary of rounding is
 * further from it than 2^-13200 of it, which balls of RM_BALL_LIMBS limbs show. */
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../../include/repmath/losses.h"
#include "../api/env.h"
#include "../reduce/elements.h"
#include "../reduce/sum.h"
#include "../reduce/total.h"
#include "decide.h"
#include "loss_kernels.h"
#include "totals.h"

enum { BLOCK = 1024, BUFFERS = 6 };

typedef struct {
  rm_term_kind kind;
  int format, reduction, elementwise; /* elementwise: a result for each element */
  double b, divisor, factor;          /* factor: 1/2, 1 or 2 */
  int64_t n, count;                   /* count: what a mean divides by, else 1 */
  rm_row_array g, x, y, out;          /* row: the bytes of a block; g.base NULL: 1 */
  rm_near scale;                      /* factor/(divisor count) */
  int tier;                           /* of a sum: 0 in binary64, 1 in two parts */
  rm_near *parts;                     /* the sums of blocks */
} rm_pair_loss;

/* An element, or a total; d = x - y: its sign, and whether |d| is at least b. */
typedef struct {
  const rm_pair_loss *loss;
  const double *x, *y, *g;
  const rm_superaccumulator *total;
  int side, beyond;
} rm_pair_row;

#define RM_NUM near
#include "losses_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "losses_exact.h"
#undef RM_NUM

/* The sign of x - y, and whether |x - y| >= b; x - y is not NaN. It is rounded: monotonely, so that only |d| = b is open, and there what
 * rounding left over decides. Where it overflows, |d| >= 2^1023. */
static void sides(const rm_pair_loss *f, double x, double y, int *side, int *beyond) {
  double e;
  const double d = rm_near_two_sum(x, -y, &e), size = __builtin_fabs(d);
  *side = d > 0.0 ? 1 : d < 0.0 ? -1 : 0;
  *beyond = size > f->b || (size == f->b && size - size == 0.0 && e * *side >= 0.0);
}

/* Whether the element of a is a NaN that signals. */
static int signals(const rm_row_array *a, int64_t block, int64_t i, int format) {
  return a->base && rm_is_signalling(rm_read_bits(rm_row_at(a, block) + i * a->stride, format), format);
}

static uint64_t slow(const rm_pair_loss *f, int64_t block, int64_t i, const double *x, const double *y, const double *g,
                     rm_row_state *state) {
  rm_pair_row r = {f, x, y, g, NULL, 0, 0};
  const double d = x[i] - y[i], gi = g ? g[i] : 1.0;
  uint32_t *flags = &state->flags;
  if (d == d) sides(f, x[i], y[i], &r.side, &r.beyond);
  /* d is infinite also where finite numbers overflow: then the formula has the value. */
  const int far = x[i] - x[i] != 0.0 || y[i] - y[i] != 0.0, bounded = f->kind == RM_TERM_SIGN || (f->kind == RM_TERM_CLAMPED && r.beyond);
  if (d != d || gi - gi != 0.0 || (far && !bounded)) {
    const double t = d != d || f->kind == RM_TERM_SQUARE || f->kind == RM_TERM_ABSOLUTE ? __builtin_fabs(d) : d == 0.0 ? 0.0 : r.side;
    const double v = d - d != 0.0 && gi == 0.0 && !bounded ? d * gi : t * gi;
    if (signals(&f->x, block, i, f->format) || signals(&f->y, block, i, f->format) || signals(&f->g, block, i, f->format) ||
        (v != v && x[i] == x[i] && y[i] == y[i] && gi == gi))
      *flags |= RM_FLAG_INVALID;
    return v != v ? rm_nan_bits(f->format) : rm_signed_infinity(v < 0.0, f->format);
  }
  return rm_decide(pair_term_near, pair_term_ball, &r, i, f->format, state);
}

static int64_t length_of(const rm_pair_loss *f, int64_t block) { return f->n - block * BLOCK < BLOCK ? f->n - block * BLOCK : BLOCK; }

/* Loads a block; g is NULL without one, and one number is repeated. */
static rm_term_block load(const rm_pair_loss *f, int64_t block, const rm_row_state *state) {
  const int64_t n = length_of(f, block);
  double *x = rm_row_buffer(state, 0), *y = rm_row_buffer(state, 1), *g = f->g.base ? rm_row_buffer(state, 2) : NULL;
  state->k->load(n, rm_row_at(&f->x, block), f->x.stride, f->format, 0.0, x);
  state->k->load(n, rm_row_at(&f->y, block), f->y.stride, f->format, 0.0, y);
  if (g) state->k->load(n, rm_row_at(&f->g, block), f->g.stride, f->format, 0.0, g);
  return (rm_term_block){n, f->kind, x, y, g, f->b, 1.0, 0.0, 0, rm_row_buffer(state, 3), rm_row_buffer(state, 4), rm_row_buffer(state, 5)};
}

static void each_element(const void *operation, int64_t block, rm_row_state *state) {
  const rm_pair_loss *f = operation;
  const int size = rm_size_of(f->format);
  rm_term_block t = load(f, block, state);
  char *out = rm_row_out(state, &f->out, block, size);
  const double scale = __builtin_fabs(f->scale.hi);
  int64_t open = t.n;
  if (scale > 0x1p-200 && scale < 0x1p200 && f->scale.err <= scale * 0x1p-102) {
    t.scale = f->scale.hi, t.scale_low = f->scale.lo;
    t.exact = f->scale.err == 0.0 && (rm_bits64(scale) << 12) == 0 && t.scale_low == 0.0 && f->b >= 0x1p-200;
    if (f->format == RM_F64) {
      state->k->losses->terms_dd(&t);
      /* out may lie anywhere: numbers are stored one by one. */
      open = state->k->losses->round_dd(t.n, t.t, t.low, t.err, t.t, state->open);
      memcpy(out, t.t, (size_t)t.n * sizeof(double));
    } else {
      const rm_row_store s = {.n = t.n, .u = t.t, .v = t.err, .fmt = f->format, .out = out, .open = state->open};
      state->k->losses->terms(&t);
      open = state->k->store(RM_ROW_GIVEN, &s);
    }
  } else {
    for (int64_t i = 0; i < t.n; i++) state->open[i] = i;
  }
  state->tiers.fast += t.n - open;
  for (int64_t j = 0; j < open; j++) {
    const int64_t i = state->open[j];
    rm_write_bits(out + i * size, slow(f, block, i, t.x, t.y, t.g, state), f->format);
  }
  rm_row_spread(state, 0, &f->out, block, t.n, f->format);
}

/* The sum of an array, within *err more. */
static void add_sum(rm_near *sum, int64_t n, const double *t, const rm_near *also) {
  const rm_sum_problem p = {n, {(const char *)t, sizeof *t}, {NULL, 0}, RM_F64, NULL};
  double hi, lo, err;
  rm_near part;
  if (rm_sum_approximately(&p, 1, &hi, &lo, &err))
    rm_near_finish(&part, hi, lo, err != 0.0, err);
  else
    rm_near_unknown(&part);
  if (also)
    rm_near_add(sum, also, &part);
  else
    *sum = part;
}

static void sum_block(const void *operation, int64_t block, rm_row_state *state) {
  const rm_pair_loss *f = operation;
  const rm_term_block t = load(f, block, state);
  rm_near sum, error;
  if (f->tier)
    state->k->losses->terms_dd(&t);
  else
    state->k->losses->terms(&t);
  add_sum(&sum, t.n, t.t, NULL);
  if (f->tier) add_sum(&sum, t.n, t.low, &sum);
  add_sum(&error, t.n, t.err, NULL);
  const double most = rm_near_most(&error);
  rm_near_finish(&f->parts[block], sum.hi, sum.lo, sum.err != 0.0 || most > 0x1p-1050, sum.err + most);
}

/* Adds the term of element i exactly. */
static void feed(const rm_pair_loss *f, int64_t i, rm_superaccumulator *acc) {
  const uint64_t bx = rm_read_bits(f->x.base + i * f->x.stride, f->format), by = rm_read_bits(f->y.base + i * f->y.stride, f->format);
  const double x = rm_to_double(bx, f->format), y = rm_to_double(by, f->format);
  if (x - x != 0.0 || y - y != 0.0) {
    if (rm_is_signalling(bx, f->format) || rm_is_signalling(by, f->format)) acc->classes |= RM_ACC_SNAN;
    if (x != x || y != y)
      acc->classes |= RM_ACC_QNAN;
    else
      acc->classes |= x == y ? RM_ACC_PINF | RM_ACC_NINF : RM_ACC_PINF;
    return;
  }
  int side, beyond;
  sides(f, x, y, &side, &beyond);
  const double s = side < 0 ? -1.0 : 1.0;
  if (f->kind == RM_TERM_ABSOLUTE) {
    rm_superacc_add(acc, s * x);
    rm_superacc_add(acc, -s * y);
  } else if (!beyond) {
    rm_superacc_add_product(acc, x, x);
    rm_superacc_add_product(acc, y, y);
    rm_superacc_add_product(acc, -x, y);
    rm_superacc_add_product(acc, -x, y);
  } else {
    for (int k = 0; k < 2; k++) {
      rm_superacc_add_product(acc, f->b, s * x);
      rm_superacc_add_product(acc, f->b, -s * y);
    }
    rm_superacc_add_product(acc, -f->b, f->b);
  }
}

static rm_status reduce(rm_pair_loss *f) {
  const int64_t blocks = (f->n + BLOCK - 1) / BLOCK;
  const int size = rm_size_of(f->format);
  rm_row_state state = {0};
  uint64_t bits = 0;
  int decided = f->n == 0;
  if (f->n == 0 && f->reduction == RM_REDUCTION_MEAN) bits = rm_nan_bits(f->format), state.flags = RM_FLAG_INVALID; /* 0/0 */
  if (!decided && !(f->parts = malloc((size_t)blocks * sizeof *f->parts))) return RM_ERR_MEMORY;
  for (f->tier = f->format == RM_F64; !decided && f->tier < 2; f->tier++) {
    const rm_status status = rm_each_row(blocks, f->n < BLOCK ? f->n : BLOCK, BUFFERS, sum_block, f);
    if (status) {
      free(f->parts);
      return status;
    }
    const rm_env env = rm_env_enter();
    rm_near sum = f->parts[0];
    for (int64_t k = 1; k < blocks; k++) rm_near_add(&sum, &sum, &f->parts[k]);
    divided_near(&sum, f, 0);
    decided = rm_near_round(&sum, f->format, RM_NEAREST, &state.flags, &bits);
    rm_env_leave(env, 0);
    if (decided) *(f->tier == (f->format == RM_F64) ? &state.tiers.fast : &state.tiers.double_double) = 1;
  }
  free(f->parts);
  const rm_env env = rm_env_enter();
  if (!decided) {
    rm_superaccumulator acc;
    rm_superacc_clear(&acc);
    for (int64_t i = 0; i < f->n; i++) feed(f, i, &acc);
    rm_pair_row r = {f, NULL, NULL, NULL, &acc, 0, 0};
    if (acc.classes)
      bits = rm_superacc_round_classes(acc.classes, f->format, &state.flags), state.tiers.accumulator = 1;
    else
      bits = rm_decide(pair_total_near, pair_total_ball, &r, 0, f->format, &state);
  }
  memcpy(f->out.base, &bits, (size_t)size);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
  return RM_OK;
}

/* Sets the row of the table above. Positions of arguments: loss 1, p 2, format 3, reduction 4, n 5. */
static rm_status begin(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, int gradient) {
  if (loss < RM_LOSS_MSE || loss > RM_LOSS_HUBER) return RM_STATUS(RM_ERR_ENUM, 1);
  if (loss >= RM_LOSS_SMOOTH_L1 && !(p >= 0.0 && p - p == 0.0 && (p > 0.0 || loss == RM_LOSS_SMOOTH_L1))) return RM_STATUS(RM_ERR_RANGE, 2);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 3);
  if (reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 4);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 5);
  if (!rm_kernels_get()) return RM_ERR_ISA;
  if (loss == RM_LOSS_SMOOTH_L1 && p == 0.0) loss = RM_LOSS_L1;
  memset(f, 0, sizeof *f);
  f->format = format, f->reduction = reduction, f->n = n;
  f->kind = loss == RM_LOSS_L1 ? (gradient ? RM_TERM_SIGN : RM_TERM_ABSOLUTE) : gradient ? RM_TERM_CLAMPED : RM_TERM_SQUARE;
  f->b = loss >= RM_LOSS_SMOOTH_L1 ? p : rm_near_infinity();
  f->factor = gradient && loss == RM_LOSS_MSE ? 2.0 : 1.0;
  if (loss >= RM_LOSS_SMOOTH_L1 && !gradient) f->factor = 0.5;
  f->divisor = loss == RM_LOSS_SMOOTH_L1 ? p : 1.0;
  f->count = reduction == RM_REDUCTION_MEAN ? n : 1;
  return RM_OK;
}

static rm_row_array blocks_of(const void *base, ptrdiff_t stride) {
  return (rm_row_array){(char *)(uintptr_t)base, stride * BLOCK, stride};
}

/* One row of n elements each: whether results may be stored. */
static int apart(const rm_pair_loss *f, const rm_row_array *x, int64_t n_x, int64_t results) {
  const int size = rm_size_of(f->format);
  const rm_row_array a = {f->out.base, 0, f->out.stride}, b = {x->base, 0, x->stride};
  return rm_rows_are_apart(a, 1, results, size, b, n_x);
}

static rm_status each(rm_pair_loss *f) {
  const rm_env env = rm_env_enter();
  rm_near_set(&f->scale, 1.0, 0);
  divided_near(&f->scale, f, 0);
  rm_env_leave(env, 0);
  return rm_each_row((f->n + BLOCK - 1) / BLOCK, f->n < BLOCK ? f->n : BLOCK, BUFFERS, each_element, f);
}

rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                             const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out) {
  rm_pair_loss f;
  const rm_status status = begin(&f, loss, p, format, reduction, n, 0);
  if (status) return status;
  const int none = reduction == RM_REDUCTION_NONE;
  if (n == 0 && none) return RM_OK;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 6);
  if (n && !y) return RM_STATUS(RM_ERR_NULL, 8);
  if (!out) return RM_STATUS(RM_ERR_NULL, 10);
  f.x = blocks_of(x, stride_x), f.y = blocks_of(y, stride_y), f.out = blocks_of(out, stride_out);
  if (!none) return reduce(&f);
  if (!apart(&f, &f.x, n, n) || !apart(&f, &f.y, n, n)) return RM_STATUS(RM_ERR_OVERLAP, 10);
  return each(&f);
}

rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g,
                                      const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *dx,
                                      ptrdiff_t stride_dx) {
  rm_pair_loss f;
  const rm_status status = begin(&f, loss, p, format, reduction, n, 1);
  if (status || n == 0) return status;
  const int one = reduction != RM_REDUCTION_NONE;
  if (!g) return RM_STATUS(RM_ERR_NULL, 6);
  if (!x) return RM_STATUS(RM_ERR_NULL, 8);
  if (!y) return RM_STATUS(RM_ERR_NULL, 10);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 12);
  f.g = blocks_of(g, one ? 0 : stride_g), f.x = blocks_of(x, stride_x), f.y = blocks_of(y, stride_y), f.out = blocks_of(dx, stride_dx);
  if (!apart(&f, &f.g, one ? 1 : n, n) || !apart(&f, &f.x, n, n) || !apart(&f, &f.y, n, n)) return RM_STATUS(RM_ERR_OVERLAP, 12);
  return each(&f);
}
