/* Negative log likelihood and its gradient: -w x of each row's target, and sums of them, over the exact sum of the weights
 * for a mean. It is also device code.
 *
 * A quotient of two exact totals, or of a product and one, is rational with fewer than 4400 bits above and below: what is not
 * a boundary of rounding is further from it than 2^-9000 of it, which balls of RM_BALL_LIMBS limbs show. */
#pragma once

#include <stddef.h>

#include "../../../crlibm/fp/exact.h"
#include "../../common/elements.h"
#include "../../reduce/exact.h"
#include "../../reduce/total.h"
#include "../rows/decide.h"
#include "args.h"

/* What a mean divides by: the sum of weights. */
struct rm_nll_divisor {
  const rm_superaccumulator *total;
  rm_dd_ball dd_ball;
  double rounded; /* infinite or NaN where it is */
};

/* -sum, or else -a b; over divisor, if there is one. */
typedef struct {
  const rm_superaccumulator *sum;
  const rm_nll_divisor *divisor;
  double a, b;
} rm_nll_value;

RM_STATIC void rm_nll_divisor_dd_ball(rm_dd_ball *v, const rm_nll_divisor *d, int limbs) {
  (void)limbs;
  *v = d->dd_ball;
}
RM_STATIC void rm_nll_divisor_ball(rm_ball *v, const rm_nll_divisor *d, int limbs) { rm_ball_set_total(v, d->total, limbs); }

#define RM_NUM dd_ball
#include "nll_formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "nll_formula.inc"
#undef RM_NUM

RM_STATIC const char *rm_nll_weight(const rm_nll *f, int64_t c) {
  return f->p.weight ? (const char *)f->p.weight + c * f->p.stride_weight : (const char *)&f->one;
}
RM_STATIC const char *rm_nll_number(const rm_nll *f, int64_t row, int64_t c) {
  return (const char *)f->p.x + row * f->p.row_x + c * f->p.stride_x;
}
RM_STATIC int64_t rm_nll_target(const rm_nll *f, int64_t row) {
  int64_t t;
  RM_READ_WORD(t, (const char *)f->p.target + row * f->p.stride_target, sizeof t);
  return t;
}

/* A total as a number that is infinite or NaN where it is. */
RM_STATIC double rm_nll_as_double(const rm_superaccumulator *acc, uint32_t *flags) {
  return rm_to_double(rm_superacc_round(acc, RM_F64, RM_NEAREST, flags), RM_F64);
}

/* *d of a total, which stays. */
RM_STATIC void rm_nll_divide(rm_nll_divisor *d, const rm_superaccumulator *total, uint32_t *flags) {
  d->total = total;
  rm_dd_ball_set_total(&d->dd_ball, total, 0);
  d->rounded = rm_nll_as_double(total, flags);
}

/* v/d, where one is not finite or d is 0. */
RM_STATIC uint64_t rm_nll_special(double v, double d, int format, uint32_t *flags) {
  const double q = v / d;
  if (rm_is_nan(q)) {
    if (!rm_is_nan(v) && !rm_is_nan(d)) *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (q == 0.0) return 0;
  if (d == 0.0 && rm_is_finite(v)) *flags |= RM_FLAG_DIVBYZERO;
  return rm_signed_infinity(q < 0.0, format);
}

/* -(a b)/divisor of two elements, unless it is deferred. */
RM_STATIC uint64_t rm_nll_product(const rm_nll *f, const char *a, const char *b, rm_row_state *state) {
  const uint64_t ua = rm_read_bits(a, f->format), ub = rm_read_bits(b, f->format);
  const double x = rm_to_double(ua, f->format), y = rm_to_double(ub, f->format);
  const rm_nll_divisor *divisor = f->divisor;
  const double d = divisor ? divisor->rounded : 1.0;
  if (rm_is_signalling(ua, f->format) || rm_is_signalling(ub, f->format)) state->flags |= RM_FLAG_INVALID;
  if (!rm_is_finite(x) || !rm_is_finite(y) || (divisor && (divisor->total->classes || d == 0.0))) {
    const double s = rm_is_finite(x) && rm_is_finite(y) ? (x == 0.0 || y == 0.0     ? 0.0
                                                           : (x < 0.0) == (y < 0.0) ? 1.0
                                                                                    : -1.0)
                                                        : x * y;
    if (rm_is_nan(s) && !rm_is_nan(x) && !rm_is_nan(y)) state->flags |= RM_FLAG_INVALID;
    return rm_nll_special(-s, d, f->format, &state->flags);
  }
  if (x == 0.0 || y == 0.0) return 0;
  if (divisor) {
    rm_nll_value v = {NULL, divisor, x, y};
    return rm_decide(rm_nll_quotient_dd_ball, rm_nll_quotient_ball, &v, 0, f->format, state);
  }
  int ex, ey;
  const uint64_t mx = rm_decompose(x, &ex), my = rm_decompose(y, &ey);
  state->tiers.fast++;
  return rm_round_exact((x < 0.0) == (y < 0.0), (rm_u128)mx * my, ex + ey, f->format, RM_NEAREST, &state->flags);
}

/* Adds w x and w of a row's target, where it counts; either may be NULL. */
RM_STATIC void rm_nll_feed(const rm_nll *f, int64_t i, rm_superaccumulator *sum, rm_superaccumulator *weights) {
  const int64_t t = rm_nll_target(f, i);
  if (t == f->p.ignore_index) return;
  if (sum) rm_superacc_add_products(sum, f->format, 1, rm_nll_number(f, i, t), 0, rm_nll_weight(f, t), 0);
  if (weights) rm_superacc_add_array(weights, f->format, 1, rm_nll_weight(f, t), 0);
}

/* The loss of a row; its gradient at the target, unless it is deferred. */
RM_STATIC uint64_t rm_nll_of_row(const rm_nll *f, int64_t i, rm_row_state *state) {
  const int64_t t = rm_nll_target(f, i);
  return t == f->p.ignore_index ? 0 : rm_nll_product(f, rm_nll_number(f, i, t), rm_nll_weight(f, t), state);
}
RM_STATIC uint64_t rm_nll_gradient(const rm_nll *f, int64_t i, rm_row_state *state) {
  const int64_t t = rm_nll_target(f, i);
  return t == f->p.ignore_index ? 0 : rm_nll_product(f, f->g + i * f->stride_g, rm_nll_weight(f, t), state);
}

#if RM_DEVICE
/* Element i of all gradients, found and stored, unless it is deferred. */
RM_STATIC void rm_nll_result(const void *operation, int64_t i, rm_row_state *state) {
  const rm_nll *f = (const rm_nll *)operation;
  const int64_t row = i / f->p.n, k = i % f->p.n;
  uint64_t bits = 0;
  if (*f->wrong) bits = rm_nan_bits(f->format);
  else if (k == rm_nll_target(f, row)) bits = rm_nll_gradient(f, row, state);
  if (!state->deferred) rm_write_bits(rm_row_at(&f->out, row) + k * f->out.stride, bits, f->format);
}
#endif

/* The sum of all losses, over the sum of the weights for a mean. */
RM_STATIC uint64_t rm_nll_total(const rm_nll *f, const rm_superaccumulator *sum, const rm_superaccumulator *weights,
                                rm_row_state *state) {
  const int mean = f->p.reduction == RM_REDUCTION_MEAN;
  rm_nll_divisor divisor;
  rm_nll_value v = {sum, mean ? &divisor : NULL, 0.0, 0.0};
  uint32_t flags = 0;
  if (mean) rm_nll_divide(&divisor, weights, &flags);
  if (!sum->classes && !(mean && (weights->classes || divisor.rounded == 0.0)))
    return rm_decide(rm_nll_quotient_dd_ball, rm_nll_quotient_ball, &v, 0, f->format, state);
  const double total = rm_nll_as_double(sum, &flags);
  if (flags & RM_FLAG_INVALID) state->flags |= RM_FLAG_INVALID;
  return rm_nll_special(-total, mean ? divisor.rounded : 1.0, f->format, &state->flags);
}
