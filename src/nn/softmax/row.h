/* A row of softmax, log_softmax, logsumexp or of a gradient, on the host and on a device.
 *
 * With m the maximum of a row and S' the sum of e^(x_k - m) over the others, the sum of all exponentials is e^m (1 + S'):
 *   softmax      e^(x_i - m) / (1 + S')       one rounding less than RM_ROW_EXP_ERR and RM_ROW_SUM_ERR: 2.125 2^-44 + 3 2^-53
 *                                             and the test's 2^-52 are below 2.25 2^-44. What exponentials() replaces by 0
 *                                             rounds to +0, and is below n 2^-245 of the sum.
 *   log_softmax  (x_i - m) - log(1 + S')      two numbers <= 0: no cancellation, also where S' is tiny
 *   logsumexp    m + log(1 + S')
 * log1p(S') is off by its own 2^-41 (crlibm/log1p), by RM_ROW_SUM_ERR of S' (log1p does not enlarge a relative error), and by
 * n 2^-245 for the terms replaced by 0: below 1.25 2^-41 of it and n 2^-244.
 *
 * Values are irrational (Lindemann, Weierstrass) but where all x_k are equal up to terms that are 0, when softmax is 1/n, not
 * a midpoint; where there is one finite element; and in softmax_backward, which is rational: balls hold it exactly up to
 * 2^32768. */
#pragma once

#include "../../../crlibm/fp/exact.h"
#include "../../../crlibm/log1p/log1p_b64.h"
#include "../../common/elements.h"
#include "../../reduce/exact.h"
#include "../../reduce/sum.h"
#include "../rows/exp_row.h"
#include "args.h"
#include "share.h"
#include "../rows/totals.h"
#if !RM_DEVICE
#include "wide.h"
#endif

enum { RM_GRADIENT_SHORT = 1024 }; /* for so many elements the sum is made by the loops of rows */
/* A row of a gradient: g and y, and the sum of g_k y_k, or of g_k (then `total` has no y). */
typedef struct {
  const double *g, *y;
  rm_sum_problem total;
  int sign; /* of the total, once it is known; 2 before */
  int limbs_dd_ball, limbs_ball;
  rm_dd_ball sum_dd_ball;
  rm_ball sum_ball;
} rm_gradient_row;

#define RM_NUM dd_ball
#include "../rows/exp_row.inc"
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "../rows/exp_row.inc"
#include "formula.inc"
#undef RM_NUM

RM_STATIC uint64_t rm_softmax_accurate_result(const rm_softmax_problem *f, rm_exp_row *r, int64_t i, rm_row_state *state) {
  if (f->kind == RM_LOGSUMEXP) return rm_decide(rm_logsumexp_dd_ball, rm_logsumexp_ball, r, 0, f->format, state);
  const double d = r->x[i] - r->m;
  if (f->kind == RM_LOG_SOFTMAX) {
    if (!rm_is_finite(d)) { /* log 0, as the element says; or a difference beyond all numbers, which the logarithm enlarges */
      if (rm_is_finite(r->x[i])) state->flags |= RM_FLAG_OVERFLOW;
      return rm_signed_infinity(1, f->format);
    }
    double rest;
    int k; /* the logarithm is positive; where the others are a tail it is below 2^-11000, which is less than the distance
              between two boundaries of rounding */
    if (rm_two_sum(r->x[i], -r->m, &rest) == d && rest == 0.0 &&
        ((d != 0.0 && r->only_tail > 0) || rm_exp_row_is_negligible(r, i, &k))) { /* just below d */
      state->tiers.fast++;
      return rm_round_beside(d, 1, f->format, RM_NEAREST, &state->flags);
    }
    return rm_decide(rm_log_softmax_dd_ball, rm_log_softmax_ball, r, i, f->format, state);
  }
  if (d < -1200.0) { /* e^d < 2^-1731 */
    state->tiers.fast++;
    return 0;
  }
  return rm_decide(rm_softmax_dd_ball, rm_softmax_ball, r, i, f->format, state);
}

/* The result of a row with a NaN, or with an infinite maximum m. */
RM_STATIC uint64_t rm_softmax_special(const rm_softmax_problem *f, const char *x, double m, uint32_t *flags) {
  const uint32_t classes = rm_superacc_classes(f->format, f->n, x, f->x.stride);
  if (classes & RM_ACC_SNAN) *flags |= RM_FLAG_INVALID;
  if (classes & (RM_ACC_QNAN | RM_ACC_SNAN)) return rm_nan_bits(f->format);
  if (f->kind == RM_LOGSUMEXP) return rm_signed_infinity(m < 0.0, f->format);
  return rm_invalid(f->format, flags);
}

/* Sets the logarithm in *s where the sum over the others, whose maximum x lacks, counted as 0. It is 0 where all are
 * -infinity; otherwise it is more than 0 and less than n 2^-245, which represents it, so that its sign is known. A value
 * nearer to x_i - m than the bound permits rounds alike: it is -0 where x_i = m, and elsewhere x_i - m is at least 2^-149, of
 * which the bound has 2^-51 (n is below 2^40). */
RM_STATIC void rm_softmax_negligible_sum(rm_row_store *s, const rm_row_state *state, int64_t n, const double *x) {
  if (RM_ROW(state, max)(n, x) == -rm_dd_ball_infinity()) {
    s->err = 0.0;
    return;
  }
  s->a = (double)n * 0x1p-245;
  s->err = s->a * (1.0 - 0x1p-18);
}

RM_STATIC void rm_softmax_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_softmax_problem *f = (const rm_softmax_problem *)operation;
  const int size = rm_size_of(f->format);
  const int64_t n = f->n, results = f->kind == RM_LOGSUMEXP ? 1 : n;
  double *x = rm_row_buffer(state, 0), *e = rm_row_buffer(state, 1);
  const char *from = rm_row_at(&f->x, row);
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  char *out = rm_row_out(state, &f->y, row, size);
  RM_ROW(state, load)(n, from, f->x.stride, f->format, -rm_dd_ball_infinity(), x);
  const double m = RM_ROW(state, max)(n, x);

  if (!rm_is_finite(m)) {
    if (rm_row_defer(state)) return;
    rm_row_unknown(f->balls, out, results, size);
    const uint64_t bits = rm_softmax_special(f, from, m, &state->flags);
    rm_row_fill(out, results, bits, f->format);
    state->tiers.fast += results;
  } else {
    rm_row_store s = {.n = results, .u = x, .c = m, .fmt = f->format, .out = out, .undecided = state->undecided};
    s.balls = f->balls;
    int64_t undecided = results;
    if (f->format == RM_F64) {
#if RM_DEVICE
      for (int64_t i = 0; i < results; i++) s.undecided[i] = i;
#else
      undecided = rm_softmax_wide(f, x, m, out, state);
#endif
    } else if (f->kind == RM_SOFTMAX) {
      s.a = 1.0 / RM_ROW(state, exponentials)(n, x, m, e);
      s.u = e;
      s.rel = 2.25 * RM_ROW_EXP_ERR;
      undecided = RM_ROW(state, store)(RM_ROW_SCALED, &s);
    } else {
      const int64_t at = RM_ROW_FIRST(n, x, m);
      x[at] = -rm_dd_ball_infinity();
      s.a = rm_log1p_of(RM_ROW(state, exponentials)(n, x, m, e));
      s.err = 0x1.4p-41 * s.a + (double)n * 0x1p-244;
      if (s.a == 0.0) rm_softmax_negligible_sum(&s, state, n, x);
      x[at] = m;
      if (f->kind == RM_LOGSUMEXP) s.u = e, e[0] = 0.0, s.c = -m, s.a = -s.a; /* (0 + m) + log */
      undecided = RM_ROW(state, store)(RM_ROW_SHIFTED, &s);
    }
    state->tiers.fast += results - undecided;
    if (undecided) {
      if (rm_row_defer(state)) return;
      rm_exp_row r;
      rm_exp_row_begin(&r, n, x, m);
      state->limbs = RM_FIRST_LIMBS;
#if !RM_DEVICE
      for (int64_t j = 0; f->balls && j < undecided; j++) { /* exponentials of what is far below m are not evaluated */
        const int64_t i = s.undecided[j];
        rm_dd_ball_value_fn *const value = f->kind == RM_SOFTMAX ? rm_softmax_dd_ball : rm_log_softmax_dd_ball;
        rm_decide_at_random(x[i] - m >= -1200.0 ? value : NULL, &r, i, f->balls, out + i * size, f->format, state);
      }
      if (f->balls) undecided = 0;
#endif
#if RM_DEVICE
      if (f->format == RM_F64 && f->kind != RM_LOGSUMEXP) {
        const rm_softmax_share_kind kind = f->kind == RM_SOFTMAX ? RM_SHARE_SOFTMAX : RM_SHARE_LOG_SOFTMAX;
        if (f->kind == RM_SOFTMAX) rm_exp_row_sum_dd_ball(&r.sum_dd_ball, &r, -1, 0);
        else rm_exp_row_log_dd_ball(&r.sum_dd_ball, &r, 0);
        r.limbs_dd_ball = 0;
        const rm_softmax_share share = {kind, n, x, NULL, m, r.second, r.only_tail, r.sum_dd_ball, out, s.undecided};
        undecided = rm_rows_decide(&share);
      }
#endif
      for (int64_t j = 0; j < undecided; j++)
        rm_write_bits(out + s.undecided[j] * size, rm_softmax_accurate_result(f, &r, s.undecided[j], state), f->format);
    }
  }
  rm_row_spread(state, 0, &f->y, row, results, f->format);
}

/* ------------------------------------------------------------------------------------------------ gradients */

/* y_i (g_i - s) or g_i - e^(y_i) s where the sum s, or an operand, is not finite. */
RM_STATIC uint64_t rm_softmax_special_gradient(const rm_softmax_gradient_problem *f, double g, double y, double s,
                                               uint32_t *flags) {
  const double e = y < RM_EXP_TAIL ? 0.0 : y > -RM_EXP_TAIL ? rm_dd_ball_infinity() : !rm_is_nan(y) ? 1.0 : y;
  const double value = f->of_log ? g - e * s : y * (g - s);
  if (!rm_is_nan(value)) return rm_signed_infinity(value < 0.0, f->format);
  if (!rm_is_nan(g) && !rm_is_nan(y) && !rm_is_nan(s)) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(f->format);
}

RM_STATIC uint64_t rm_softmax_accurate_gradient(const rm_softmax_gradient_problem *f, rm_gradient_row *r, int64_t i,
                                                double sum, rm_row_state *state) {
  const double g = r->g[i], y = r->y[i];
  uint32_t *flags = &state->flags;
  if (!rm_is_finite(sum) || (f->of_log && (!rm_is_finite(g) || rm_is_nan(y))))
    return rm_softmax_special_gradient(f, g, y, sum, flags);
  if (!f->of_log) return rm_decide(rm_softmax_backward_dd_ball, rm_softmax_backward_ball, r, i, f->format, state);
  if (y >= RM_EXP_TAIL && y <= -RM_EXP_TAIL)
    return rm_decide(rm_log_softmax_backward_dd_ball, rm_log_softmax_backward_ball, r, i, f->format, state);
  state->tiers.fast++;
  if (r->sign == 2) r->sign = rm_problem_sign(&r->total);
  const int sign = r->sign;
  if (y > 0.0 && sign)
    return rm_is_finite(y) ? rm_overflow(sign > 0, f->format, RM_NEAREST, flags) : rm_signed_infinity(sign > 0, f->format);
  if (y > 0.0 && !rm_is_finite(y)) return rm_invalid(f->format, flags); /* infinity times 0 */
  /* g, or less than half a unit of the least number of any format beside it: a number of the format is no boundary. */
  if (g == 0.0) return y < 0.0 && rm_is_finite(y) ? rm_signed_zero(sign > 0, f->format) : 0;
  int e;
  const uint64_t m = rm_decompose(g, &e);
  return rm_round_exact(g < 0.0, m, e, f->format, RM_NEAREST, flags);
}

#if !RM_DEVICE
/* Stores those of the undecided results of softmax_backward that the compensated sum hi + lo decides, where the plain one did
 * not: where g_i is near to the sum, as in rows of which one y_i is nearly 1, or with equal g. Returns the number of the
 * others. In (g_i - hi) - lo the first difference is exact where g_i is within a factor of 2 of hi; elsewhere it is above
 * |hi|/2, and lo at most 2^-52 of it: so this is off by 2^-52 of itself and what the sum is off by. That, two more roundings
 * and the test are below RM_ROW_WEIGHTED's 2^-50 of the difference. Nothing underflows: the difference is 0 or at least
 * 2^-298, and so is the sum of magnitudes, of which an error bound that is not 0 has 2^-106. */
static int64_t rm_softmax_by_sum(const rm_row_state *state, const rm_gradient_row *r, const rm_row_store *s,
                                 int64_t undecided) {
  enum { SOME = 2 * RM_ROW_PAD };
  const rm_dd_ball *sum = &r->sum_dd_ball;
  const int size = rm_size_of(s->fmt);
  int64_t left = 0;
  for (int64_t from = 0; from < undecided; from += SOME) {
    const int64_t n = undecided - from < SOME ? undecided - from : SOME;
    double difference[SOME] = {0.0}, y[SOME] = {0.0};
    int64_t at[SOME], open[SOME];
    uint64_t results[SOME];
    for (int64_t j = 0; j < n; j++) {
      const int64_t i = at[j] = s->undecided[from + j];
      difference[j] = (r->g[i] - sum->hi) - sum->lo, y[j] = r->y[i];
    }
    const rm_row_store some = {
        .n = n, .u = difference, .v = y, .err = sum->err, .fmt = s->fmt, .out = results, .undecided = open};
    const int64_t others = RM_ROW(state, store)(RM_ROW_WEIGHTED, &some);
    for (int64_t j = 0; j < n; j++)
      __builtin_memcpy((char *)s->out + at[j] * size, (const char *)results + j * size, (size_t)size);
    for (int64_t j = 0; j < others; j++) s->undecided[left++] = at[open[j]]; /* of those before */
  }
  return left;
}

static int64_t rm_softmax_by_compensated_sum(const rm_row_state *state, rm_gradient_row *r, rm_row_store *s,
                                             int64_t undecided) {
  rm_dd_ball *sum = &r->sum_dd_ball;
  double hi, lo, err;
  if (!rm_sum_approximately(&r->total, 1, &hi, &lo, &err)) return undecided;
  rm_dd_ball_finish(sum, hi, lo, err != 0.0, err);
  undecided = rm_softmax_by_sum(state, r, s, undecided);
  if (undecided && sum->err != 0.0 && rm_sum_is_exact(&r->total, err)) {
    rm_dd_ball_finish(sum, hi, lo, 0, 0.0);
    undecided = rm_softmax_by_sum(state, r, s, undecided);
  }
  r->limbs_dd_ball = 0;
  return undecided;
}
#endif

#if !RM_DEVICE
/* The sum of a row below binary64, by the loops of rows, which take a short one much sooner than src/reduce does. It is
 * within RM_ROW_MOMENT_ERR of the sum of its terms' magnitudes, which is at most the root of n times that of their squares
 * (Cauchy, Schwarz). Products of two elements are exact. h: room for them. Returns whether that is finite, and so all
 * terms. */
static int rm_gradient_row_sum(const rm_row_state *state, int of_log, int64_t n, const double *g, const double *y, double *h,
                               double *sum, double *err) {
  double sums[3];
  if (of_log) state->k->moments(n, g, 0.0, &sums[0], &sums[1]);
  else state->k->weighted(n, g, y, y, 0.0, h, sums);
  *sum = sums[0];
  *err = 1.01 * RM_ROW_MOMENT_ERR * __builtin_sqrt((double)n * sums[1]);
  return rm_is_finite(*err);
}
#endif

RM_FN void rm_gradient_row_begin(rm_gradient_row *r, const double *g, const double *y, const rm_sum_problem *total) {
  r->g = g, r->y = y, r->total = *total;
  r->limbs_dd_ball = r->limbs_ball = -1, r->sign = 2;
}

RM_STATIC void rm_softmax_gradient_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_softmax_gradient_problem *f = (const rm_softmax_gradient_problem *)operation;
  const int size = rm_size_of(f->format);
  const int64_t n = f->n;
  double *g = rm_row_buffer(state, 0), *y = rm_row_buffer(state, 1), sum = 0.0, low, err;
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  rm_sum_problem total = {n, {rm_row_at(&f->g, row), f->g.stride}, {NULL, 0}, f->format, NULL};
  if (!f->of_log) total.y.base = rm_row_at(&f->y, row), total.y.stride = f->y.stride;
  RM_ROW(state, load)(n, rm_row_at(&f->g, row), f->g.stride, f->format, 0.0, g);
  RM_ROW(state, load)(n, rm_row_at(&f->y, row), f->y.stride, f->format, 0.0, y);
  char *out = rm_row_out(state, &f->dx, row, size);
  const int in_place = out == total.x.base || out == total.y.base;
  if (in_place) out = (char *)rm_row_buffer(state, 2); /* the accurate phase reads g and y again */

  rm_row_store s = {.n = n, .u = g, .v = y, .fmt = f->format, .out = out, .undecided = state->undecided};
  s.balls = f->balls;
  int known = 0;
#if !RM_DEVICE
  low = 0.0;
  known = f->format != RM_F64 && n <= RM_GRADIENT_SHORT &&
          rm_gradient_row_sum(state, f->of_log, n, g, y, rm_row_buffer(state, 2), &sum, &err);
#endif
  if (!known) known = f->format != RM_F64 && rm_sum_approximately(&total, 0, &sum, &low, &err);
  int64_t undecided = n;
  if (known) {
    s.a = sum;
    err += __builtin_fabs(low);
    s.err = err;
    if (f->of_log) {
      /* e^y and its product are off by 2^-43, the sum relatively by err/sum. Where that is not small, no result is
       * decided. */
      s.rel = RM_ROW_EXP_ERR + 0x1p-50 +
              (sum != 0.0  ? 1.01 * err / __builtin_fabs(sum)
               : err > 0.0 ? rm_dd_ball_infinity()
                           : 0.0);
      /* 2^-245.26, the greatest e^y below RM_ROW_EXP_MIN, times the exact sum is less than 2^-245 (1 + slope) of this one. */
      s.slope = s.rel < 0x1p-20 ? 1.0 - 0x1p-18 : 2.0 + s.rel;
      undecided = RM_ROW(state, store)(RM_ROW_LESS_EXP, &s);
    } else {
      undecided = RM_ROW(state, store)(RM_ROW_WEIGHTED, &s);
    }
  } else {
    rm_row_unknown(f->balls, out, n, size);
  }
  int is_finite = known;
#if !RM_DEVICE
  rm_gradient_row r; /* on a device its numbers take room that only the accurate phase has */
  rm_gradient_row_begin(&r, g, y, &total);
  if (f->format == RM_F64) {
    rm_problem_total_dd_ball(&r.sum_dd_ball, &total, 0);
    r.limbs_dd_ball = 0;
    is_finite = rm_is_finite(r.sum_dd_ball.err); /* then all operands are */
    if (is_finite) undecided = rm_softmax_wide_gradient(f->of_log, &total, g, y, &r.sum_dd_ball, out, state);
  }
#endif
  state->tiers.fast += n - undecided;
#if !RM_DEVICE
  for (int64_t j = 0; f->balls && known && j < undecided; j++) {
    const int64_t i = s.undecided[j];
    const int within = y[i] >= RM_EXP_TAIL && y[i] <= -RM_EXP_TAIL;
    rm_dd_ball_value_fn *const value = !f->of_log ? rm_softmax_backward_dd_ball
                                       : within   ? rm_log_softmax_backward_dd_ball
                                                  : NULL;
    rm_decide_at_random(value, &r, i, f->balls, out + i * size, f->format, state);
  }
  if (f->balls && known) undecided = 0;
#endif
  if (undecided) {
    if (rm_row_defer(state)) return;
    state->limbs = RM_FIRST_LIMBS;
    double whole = sum;
#if RM_DEVICE /* a finite bound says that all operands are finite */
    rm_gradient_row r;
    rm_gradient_row_begin(&r, g, y, &total);
    if (f->format == RM_F64) {
      rm_problem_total_dd_ball(&r.sum_dd_ball, &r.total, 0);
      r.limbs_dd_ball = 0;
      if (rm_is_finite(r.sum_dd_ball.err)) {
        const rm_softmax_share_kind kind = f->of_log ? RM_SHARE_LOG_BACKWARD : RM_SHARE_BACKWARD;
        const rm_softmax_share share = {kind, n, g, y, 0.0, 0.0, 0, r.sum_dd_ball, out, s.undecided};
        for (int64_t i = 0; i < n; i++) s.undecided[i] = i;
        undecided = rm_rows_decide(&share);
        is_finite = 1, whole = 0.0;
      }
    }
#endif
    if (!is_finite) {
      const uint32_t classes = rm_sum_classes(&total);
      whole = classes ? rm_to_double(rm_superacc_round_classes(classes, RM_F64, &state->flags), RM_F64) : 0.0;
    }
    if (rm_is_nan(whole)) { /* then all of the row is: a NaN is among the operands, or the flag is raised */
      rm_row_fill(out, n, rm_nan_bits(f->format), f->format);
      undecided = 0;
    }
    if (!is_finite)
      for (int64_t i = 0; i < undecided; i++) s.undecided[i] = i;
#if !RM_DEVICE
    if (known && !f->of_log) {
      const int64_t before = undecided;
      undecided = rm_softmax_by_compensated_sum(state, &r, &s, undecided);
      state->tiers.double_double += before - undecided;
    }
#endif
    for (int64_t j = 0; j < undecided; j++) {
      const int64_t i = s.undecided[j];
      rm_write_bits(out + i * size, rm_softmax_accurate_gradient(f, &r, i, whole, state), f->format);
    }
  }
  if (in_place) __builtin_memcpy(rm_row_at(&f->dx, row), out, (size_t)n * (size_t)size);
  rm_row_spread(state, 0, &f->dx, row, n, f->format);
}
