/* Regression losses in the accurate phase: elements, and exact sums. It is also device code.
 *
 * A sum that the fast phase leaves undecided is the exact sum of products in a superaccumulator:
 * (x - y)^2, or x x - 2 x y + y y where x - y is no binary64 number; b (2 |d| - b) = 2 b |x - y| - b b.
 *
 * All values are rational, quotients of integers below 2^13000 in units of a power of two: one that is not a boundary of
 * rounding is further from it than 2^-13200 of it, which balls of RM_BALL_LIMBS limbs show. */
#pragma once

#include <stddef.h>

#include "../../../crlibm/fp/exact.h"
#include "../../common/elements.h"
#include "../../reduce/total.h"
#include "../rows/decide.h"
#include "args.h"

/* An element, or a total; d = x - y: its sign, and whether |d| is at least b. */
typedef struct {
  const rm_pair_loss *loss;
  double x, y, g;
  const rm_superaccumulator *total;
  int side, beyond;
} rm_pair_row;

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "formula.inc"
#undef RM_NUM

/* Whether scale, factor/(divisor count), serves the fast tiers; then *t has it. */
RM_STATIC int rm_pair_scale(const rm_pair_loss *f, const rm_dd_ball *scale, rm_term_block *t) {
  const double size = __builtin_fabs(scale->hi);
  t->scale = scale->hi, t->scale_low = scale->lo;
  t->exact = scale->err == 0.0 && (rm_bits64(size) << 12) == 0 && t->scale_low == 0.0 && f->b >= 0x1p-200;
  return size > 0x1p-200 && size < 0x1p200 && scale->err <= size * 0x1p-102;
}

/* The sign of x - y, and whether |x - y| >= b; x - y is not NaN. It is rounded: monotonely, so that only |d| = b is
 * undecided, and there the rounding error of d decides. Where it overflows, |d| >= 2^1023. */
RM_STATIC void rm_pair_sides(const rm_pair_loss *f, double x, double y, int *side, int *beyond) {
  double e;
  const double d = rm_two_sum(x, -y, &e), size = __builtin_fabs(d);
  *side = d > 0.0 ? 1 : d < 0.0 ? -1 : 0;
  *beyond = size > f->b || (size == f->b && rm_is_finite(size) && e * *side >= 0.0);
}

/* Whether element i of a is a NaN that signals. */
RM_STATIC int rm_pair_signals(const rm_row_array *a, int64_t i, int format) {
  return a->base && rm_is_signalling(rm_read_bits(a->base + i * a->stride, format), format);
}

/* The result of element i, whose numbers are x, y, g. */
RM_STATIC uint64_t rm_pair_element(const rm_pair_loss *f, int64_t i, double x, double y, double g, rm_row_state *state) {
  rm_pair_row r = {f, x, y, g, NULL, 0, 0};
  const double d = x - y;
  uint32_t *flags = &state->flags;
  if (!rm_is_nan(d)) rm_pair_sides(f, x, y, &r.side, &r.beyond);
  /* d is infinite also where finite numbers overflow: then the formula has the value. */
  const int far = !rm_is_finite(x) || !rm_is_finite(y),
            bounded = f->kind == RM_TERM_SIGN || (f->kind == RM_TERM_CLAMPED && r.beyond);
  if (rm_is_nan(d) || !rm_is_finite(g) || (far && !bounded)) {
    const double t = rm_is_nan(d) || f->kind == RM_TERM_SQUARE || f->kind == RM_TERM_ABSOLUTE ? __builtin_fabs(d)
                     : d == 0.0                                                               ? 0.0
                                                                                              : r.side;
    const double v = !rm_is_finite(d) && g == 0.0 && !bounded ? d * g : t * g;
    if (rm_pair_signals(&f->x, i, f->format) || rm_pair_signals(&f->y, i, f->format) ||
        rm_pair_signals(&f->g, i, f->format) || (rm_is_nan(v) && !rm_is_nan(x) && !rm_is_nan(y) && !rm_is_nan(g)))
      *flags |= RM_FLAG_INVALID;
    return rm_is_nan(v) ? rm_nan_bits(f->format) : rm_signed_infinity(v < 0.0, f->format);
  }
  return rm_decide(rm_pair_term_dd_ball, rm_pair_term_ball, &r, i, f->format, state);
}

#if RM_DEVICE
RM_STATIC double rm_pair_read(const rm_row_array *a, int64_t i, int format) {
  return a->base ? rm_read_element(a->base + i * a->stride, format) : 1.0;
}
/* Finds the result of element i, and stores it unless it is deferred. */
RM_STATIC void rm_pair_result(const void *operation, int64_t i, rm_row_state *state) {
  const rm_pair_loss *f = (const rm_pair_loss *)operation;
  const int format = f->format;
  const uint64_t bits = rm_pair_element(f, i, rm_pair_read(&f->x, i, format), rm_pair_read(&f->y, i, format),
                                        rm_pair_read(&f->g, i, format), state);
  if (!state->deferred) rm_write_bits(f->out.base + i * f->out.stride, bits, format);
}
#endif

#if !RM_DEVICE
static int rm_pair_is_finite(const rm_pair_loss *f, int64_t i) {
  return rm_is_finite(rm_read_element(f->x.base + i * f->x.stride, f->format)) &&
         rm_is_finite(rm_read_element(f->y.base + i * f->y.stride, f->format));
}
#endif

/* Adds the term of element i to *acc, exactly. */
RM_STATIC void rm_pair_feed(const rm_pair_loss *f, int64_t i, rm_superaccumulator *acc) {
  const uint64_t bx = rm_read_bits(f->x.base + i * f->x.stride, f->format),
                 by = rm_read_bits(f->y.base + i * f->y.stride, f->format);
  const double x = rm_to_double(bx, f->format), y = rm_to_double(by, f->format);
  if (!rm_is_finite(x) || !rm_is_finite(y)) {
    if (rm_is_signalling(bx, f->format) || rm_is_signalling(by, f->format)) acc->classes |= RM_ACC_SNAN;
    if (rm_is_nan(x) || rm_is_nan(y)) acc->classes |= RM_ACC_QNAN;
    else acc->classes |= x == y ? RM_ACC_PINF | RM_ACC_NINF : RM_ACC_PINF;
    return;
  }
  int side, beyond;
  double rest;
  rm_pair_sides(f, x, y, &side, &beyond);
  const double s = side < 0 ? -1.0 : 1.0, d = rm_two_sum(x, -y, &rest);
  const int whole = rest == 0.0 && rm_is_finite(d); /* d is x - y: mostly, below binary64 */
  const double u = whole ? s * d : s * x, v = -s * y; /* |x - y| is u, or else u + v */
  if (f->kind == RM_TERM_ABSOLUTE) {
    rm_superacc_add(acc, u);
    if (!whole) rm_superacc_add(acc, v);
  } else if (!beyond) {
    rm_superacc_add_product(acc, u, u);
    if (whole) return;
    rm_superacc_add_product(acc, v, v);
    rm_superacc_add_product(acc, u, v);
    rm_superacc_add_product(acc, u, v);
  } else {
    for (int k = 0; k < 2; k++) {
      rm_superacc_add_product(acc, f->b, u);
      if (!whole) rm_superacc_add_product(acc, f->b, v);
    }
    rm_superacc_add_product(acc, -f->b, f->b);
  }
}

/* The sum of n > 0 terms, or their mean. */
RM_STATIC uint64_t rm_pair_total(const rm_pair_loss *f, const rm_superaccumulator *acc, rm_row_state *state) {
  rm_pair_row r = {f, 0.0, 0.0, 1.0, acc, 0, 0};
  if (!acc->classes) return rm_decide(rm_pair_total_dd_ball, rm_pair_total_ball, &r, 0, f->format, state);
  state->tiers.accumulator++;
  return rm_superacc_round_classes(acc->classes, f->format, &state->flags);
}
