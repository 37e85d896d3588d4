/* Negative log likelihood and its gradient: -w x of each row's target, and sums of them, over the exact sum of the weights for a mean.
 *
 * A quotient of two exact totals, or of a product and one, is rational with fewer than 4400 bits above and below: what is not a boundary of
 * rounding is further from it than 2^-9000 of it, which balls of RM_BALL_LIMBS limbs show. */
#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../../include/repmath/losses.h"
#include "../api/env.h"
#include "../reduce/elements.h"
#include "../reduce/exact.h"
#include "../reduce/total.h"
#include "decide.h"

/* -sum, or else -a b; over divisor, if there is one. */
typedef struct {
  const rm_superaccumulator *sum, *divisor;
  double a, b;
} nll_value;

#define RM_NUM near
#include "nll_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "nll_exact.h"
#undef RM_NUM

typedef struct {
  const rm_cross_entropy_problem *p;
  int format;
  uint64_t one; /* the weight where there are none */
} nll;

static const void *weight_of(const nll *f, int64_t class) {
  return f->p->weight ? (const char *)f->p->weight + class * f->p->stride_weight : (const char *)&f->one;
}
static const void *target_number(const nll *f, int64_t row, int64_t class) {
  return (const char *)f->p->x + row * f->p->row_x + class * f->p->stride_x;
}
static int64_t target_of(const nll *f, int64_t row) {
  int64_t t;
  memcpy(&t, (const char *)f->p->target + row * f->p->stride_target, sizeof t);
  return t;
}

/* A total as a number that is infinite or NaN where it is. */
static double as_double(const rm_superaccumulator *acc, uint32_t *flags) {
  return rm_to_double(rm_superacc_round(acc, RM_F64, RM_NEAREST, flags), RM_F64);
}

/* v/d, where one is not finite or d is 0. */
static uint64_t special(double v, double d, int format, uint32_t *flags) {
  const double q = v / d;
  if (q != q) {
    if (v == v && d == d) *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (q == 0.0) return 0;
  if (d == 0.0 && v - v == 0.0) *flags |= RM_FLAG_DIVBYZERO;
  return rm_signed_infinity(q < 0.0, format);
}

/* -(a b)/divisor of two elements. */
static uint64_t product(const nll *f, const void *a, const void *b, const rm_superaccumulator *divisor, rm_row_state *state) {
  const uint64_t ua = rm_read_bits(a, f->format), ub = rm_read_bits(b, f->format);
  const double x = rm_to_double(ua, f->format), y = rm_to_double(ub, f->format);
  uint32_t flags = 0;
  const double d = divisor ? as_double(divisor, &flags) : 1.0;
  if (rm_is_signalling(ua, f->format) || rm_is_signalling(ub, f->format)) state->flags |= RM_FLAG_INVALID;
  if (x - x != 0.0 || y - y != 0.0 || (divisor && (divisor->classes || d == 0.0))) {
    const double s = x - x == 0.0 && y - y == 0.0 ? (x == 0.0 || y == 0.0 ? 0.0 : (x < 0.0) == (y < 0.0) ? 1.0 : -1.0) : x * y;
    if (s != s && x == x && y == y) state->flags |= RM_FLAG_INVALID;
    return special(-s, d, f->format, &state->flags);
  }
  if (x == 0.0 || y == 0.0) return 0;
  if (divisor) {
    const nll_value v = {NULL, divisor, x, y};
    return rm_decide(nll_quotient_near, nll_quotient_ball, (void *)(uintptr_t)&v, 0, f->format, state);
  }
  int ex, ey;
  const uint64_t mx = rm_split_double(x, &ex), my = rm_split_double(y, &ey);
  state->tiers.fast++;
  return rm_round_exact((x < 0.0) == (y < 0.0), (rm_u128)mx * my, ex + ey, f->format, RM_NEAREST, &state->flags);
}

/* Positions: format 1, problem 2. */
static rm_status begin(nll *f, int format, const rm_cross_entropy_problem *p) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!p) return RM_STATUS(RM_ERR_NULL, 2);
  if (p->rows < 0 || p->n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (p->reduction < RM_REDUCTION_NONE || p->reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  if (p->rows && (!p->target || (p->n && !p->x))) return RM_STATUS(RM_ERR_NULL, 2);
  *f = (nll){p, format, rm_one_bits(format)};
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t t = target_of(f, i);
    if (t != p->ignore_index && (t < 0 || t >= p->n)) return RM_STATUS(RM_ERR_INDEX, 2);
  }
  return rm_kernels_get() ? RM_OK : RM_ERR_ISA;
}

/* The sums over rows that are not ignored: of w x (unless NULL), of w. */
static void totals(const nll *f, rm_superaccumulator *sum, rm_superaccumulator *weights) {
  if (sum) rm_superacc_clear(sum);
  rm_superacc_clear(weights);
  for (int64_t i = 0; i < f->p->rows; i++) {
    const int64_t t = target_of(f, i);
    if (t == f->p->ignore_index) continue;
    if (sum) rm_superacc_add_products(sum, f->format, 1, target_number(f, i, t), 0, weight_of(f, t), 0);
    rm_superacc_add_array(weights, f->format, 1, weight_of(f, t), 0);
  }
}

static void leave(rm_env env, const rm_row_state *state) {
  rm_stats_add(state->tiers.fast, state->tiers.double_double, state->tiers.accumulator);
  rm_env_leave(env, state->flags);
}

rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *p, void *loss, ptrdiff_t stride_loss) {
  nll f;
  const rm_status status = begin(&f, format, p);
  if (status) return status;
  const int none = p->reduction == RM_REDUCTION_NONE, size = rm_size_of(format);
  if (none && p->rows == 0) return RM_OK;
  if (!loss) return RM_STATUS(RM_ERR_NULL, 3);
  const rm_row_array out = {loss, 0, stride_loss}, x = {(char *)(uintptr_t)p->x, p->row_x, p->stride_x};
  if (none && !rm_rows_are_apart(out, 1, p->rows, size, (rm_row_array){NULL, 0, 0}, 0)) return RM_STATUS(RM_ERR_OVERLAP, 3);
  if (none && p->n && p->x && rm_overlaps((rm_view){out.base, 0, out.stride}, 1, p->rows, size, (rm_view){x.base, x.row, x.stride}, p->rows, p->n, size))
    return RM_STATUS(RM_ERR_OVERLAP, 3);
  rm_row_state state = {0};
  const rm_env env = rm_env_enter();
  if (none) {
    for (int64_t i = 0; i < p->rows; i++) {
      const int64_t t = target_of(&f, i);
      const uint64_t bits = t == p->ignore_index ? 0 : product(&f, target_number(&f, i, t), weight_of(&f, t), NULL, &state);
      rm_write_bits((char *)loss + i * stride_loss, bits, format);
    }
    leave(env, &state);
    return RM_OK;
  }
  rm_superaccumulator sum, weights;
  totals(&f, &sum, &weights);
  const int mean = p->reduction == RM_REDUCTION_MEAN;
  uint32_t flags = 0;
  const double d = mean ? as_double(&weights, &flags) : 1.0;
  uint64_t bits;
  if (sum.classes || (mean && (weights.classes || d == 0.0))) {
    const double v = as_double(&sum, &flags);
    if (flags & RM_FLAG_INVALID) state.flags |= RM_FLAG_INVALID;
    bits = special(-v, d, format, &state.flags);
  } else {
    const nll_value v = {&sum, mean ? &weights : NULL, 0.0, 0.0};
    bits = rm_decide(nll_quotient_near, nll_quotient_ball, (void *)(uintptr_t)&v, 0, format, &state);
  }
  rm_write_bits(loss, bits, format);
  leave(env, &state);
  return RM_OK;
}

rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *p, const void *g, ptrdiff_t stride_g, void *dx,
                               ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  nll f;
  const rm_status status = begin(&f, format, p);
  if (status || p->rows == 0 || p->n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 5);
  const int none = p->reduction == RM_REDUCTION_NONE, size = rm_size_of(format);
  const rm_view out = {dx, row_dx, stride_dx}, from = {(char *)(uintptr_t)g, none ? stride_g : 0, 0};
  if (rm_overlaps_itself(out, p->rows, p->n, size) || rm_overlaps(out, p->rows, p->n, size, from, none ? p->rows : 1, 1, size))
    return RM_STATUS(RM_ERR_OVERLAP, 5);
  rm_row_state state = {0};
  rm_superaccumulator weights;
  const int mean = p->reduction == RM_REDUCTION_MEAN;
  const rm_env env = rm_env_enter();
  if (mean) totals(&f, NULL, &weights);
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t t = target_of(&f, i);
    for (int64_t k = 0; k < p->n; k++) {
      uint64_t bits = 0;
      if (k == t && t != p->ignore_index) bits = product(&f, (const char *)g + (none ? i * stride_g : 0), weight_of(&f, t), mean ? &weights : NULL, &state);
      rm_write_bits((char *)dx + i * row_dx + k * stride_dx, bits, format);
    }
  }
  leave(env, &state);
  return RM_OK;
}
