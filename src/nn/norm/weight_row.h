/* The gradient with respect to the weights of a norm: statistics of all sets, then sums over sets, one weight after the
 * other. Also device code, which is included after norm/statistics.inc for both kinds of numbers.
 *
 * Where only the elements at one index of all sets share a weight (layer norm), sums run down columns: t = g (x - c) a is
 * rounded by at most 3u and off by |t| rel (a's error, normalize.inl) and |g| a c_err; a share of the sets adds at most
 * RM_WEIGHT_TERMS terms in binary64, and adds their sum to the total by two-sums. Otherwise a block's sum of g (x - c) is off
 * by RM_ROW_MOMENT_ERR sqrt(sum of g^2) D and c_err |sum of g| (normalize.inl).
 *
 * Sums of quotients by different roots have no useful separation bound. One that no precision distinguishes from a boundary
 * of rounding is undecided, an error. A sum is a boundary only if it is rational, which the host finds out
 * (norm/weight_classes.h). A device has no memory for that: parts of equal squares are added first, which makes them 0, for
 * up to RM_WEIGHT_GROUPS squares at once, for any number of them at RM_WEIGHT_LIMBS limbs, where squares of fewer than 4,500
 * bits are exact; a sum that is rational by squares in the ratio of squares is undecided there. */
#pragma once

#include "../../common/elements.h"
#include "normalize.h"

enum { RM_WEIGHT_TERMS = 64, RM_WEIGHT_GROUPS = 4, RM_WEIGHT_LIMBS = 128 };

/* The elements that share a weight, of all sets by the first index. */
typedef struct {
  int64_t set1_from, set1_to, outer_from, outer_to, inner_from, inner_to;
} rm_weight_range;

typedef struct {
  const rm_norm_problem *f;
  rm_row_state *state;
  double *x, *g;
  const rm_weight_range *range;
  rm_norm_row row;
  struct {
    rm_dd_ball square[RM_WEIGHT_GROUPS], part[RM_WEIGHT_GROUPS];
  } dd_ball;
  struct {
    rm_ball square[RM_WEIGHT_GROUPS], part[RM_WEIGHT_GROUPS];
  } ball;
} rm_weight_sum;

#define RM_NUM dd_ball
#include "weight_formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "weight_formula.inc"
#undef RM_NUM

#if !RM_DEVICE
#include "weight_classes.h"
#endif

/* Finds the statistics of a set, and loads x into the first buffer. */
RM_STATIC void rm_norm_weight_statistics(const void *operation, int64_t set, rm_row_state *state) {
  const rm_norm_weights *s = (const rm_norm_weights *)operation;
  const rm_norm_problem *f = &s->f;
  const int64_t set0 = set / f->sets[1], set1 = set % f->sets[1];
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  double *x = rm_row_buffer(state, 0);
  rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
  rm_norm_statistics t = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}; /* threads of a block each have their own */
#if RM_DEVICE
  const int known = rm_norm_approximate(f, set0, set1, x, state, &t); /* not of binary64 */
#else
  const int known = f->format == RM_F64 ? rm_norm_wide_statistics(f, set0, set1, x, &s->wide[set])
                                        : rm_norm_approximate(f, set0, set1, x, state, &t);
#endif
  if (!known) t.rel = -1.0;
  s->statistics[set] = t;
  s->kind[set] = RM_SET_ORDINARY;
  if (known || rm_row_defer(state)) return;
  const int kind = rm_norm_classify(f, set0, set1, rm_norm_length(f), x);
  s->kind[set] = (signed char)kind;
#if RM_DEVICE
  if (f->format == RM_F64 && kind != RM_SET_INVALID) {
    rm_norm_row r;
    rm_norm_row_begin(f, set0, set1, &r);
    r.x = x;
    rm_norm_prepare_dd_ball(&r, 0);
    rm_norm_wide *wide = &s->wide[set];
    wide->c = r.dd_ball.sum;
    rm_dd_ball_set(&wide->v, 1.0, 0);
    rm_dd_ball_div(&wide->a, &wide->v, &r.dd_ball.root);
  }
#endif
}

/* Whether the gradient is NaN: a set has no definite statistics, or the sum a gradient that is not finite. Beside a NaN
 * nothing is raised; what has been raised already need not be looked for. */
RM_STATIC int rm_norm_weight_is_bad(const rm_norm_weights *s, const rm_weight_range *w, uint32_t raised, int *nan) {
  const rm_norm_problem *f = &s->f;
  int bad = 0;
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
      bad |= s->kind[s0 * f->sets[1] + s1] == RM_SET_INVALID;
      const char *g = f->g.base + s0 * f->g.set[0] + s1 * f->g.set[1], *x = f->x.base + s0 * f->x.set[0] + s1 * f->x.set[1];
      for (int64_t o = w->outer_from; o < w->outer_to; o++) {
        for (int64_t k = w->inner_from; k < w->inner_to; k++) {
          const double v = rm_read_element(g + o * f->g.outer + k * f->g.inner, f->format);
          const double u = rm_read_element(x + o * f->x.outer + k * f->x.inner, f->format);
          bad |= !rm_is_finite(v) || !rm_is_finite(u);
          *nan |= rm_is_nan(v) || rm_is_nan(u);
          if (bad && (*nan || (raised & RM_FLAG_INVALID))) return 1;
        }
      }
    }
  }
  return bad;
}

/* Whether each set, of the mean of its elements, has the weight at all elements and one g: a sum of deviations is 0. */
RM_STATIC int rm_norm_weight_is_flat(const rm_norm_problem *f, const rm_weight_range *w) {
  if (!f->centered || f->variance.base) return 0;
  if ((w->outer_to - w->outer_from) * (w->inner_to - w->inner_from) != rm_norm_length(f)) return 0;
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
      const char *g = f->g.base + s0 * f->g.set[0] + s1 * f->g.set[1];
      const double first = rm_read_element(g, f->format);
      for (int64_t o = 0; o < f->outer; o++)
        for (int64_t k = 0; k < f->inner; k++)
          if (rm_read_element(g + o * f->g.outer + k * f->g.inner, f->format) != first) return 0;
    }
  }
  return 1;
}

/* The accurate phase of a weight. */
RM_STATIC uint64_t rm_norm_weight_accurate(const rm_norm_weights *s, const rm_weight_range *range, rm_row_state *state) {
  const int format = s->f.format;
  int nan = 0;
  if (rm_norm_weight_is_bad(s, range, state->flags, &nan)) {
    /* An infinite term is multiplied by a deviation without a limit. */
    if (!nan) state->flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (rm_norm_weight_is_flat(&s->f, range)) {
    state->tiers.fast++;
    return 0;
  }
  rm_weight_sum w;
  w.f = &s->f, w.state = state, w.range = range, w.x = rm_row_buffer(state, 0), w.g = rm_row_buffer(state, 1);
#if !RM_DEVICE
  rm_dd_ball dd_ball;
  rm_ball value;
  uint64_t bits;
  rm_norm_weight_gradient_dd_ball(&dd_ball, &w, 0, 0);
  if (rm_dd_ball_round(&dd_ball, format, RM_NEAREST, &state->flags, &bits)) {
    state->tiers.double_double++;
    return bits;
  }
  if (!rm_weight_is_rational(&value, &w, state))
    return rm_decide_in_balls(rm_norm_weight_gradient_ball, &w, 0, INT64_MIN, format, state);
  state->tiers.accumulator++;
  if (rm_ball_round(&value, format, RM_NEAREST, &state->flags, &bits)) return bits;
  state->failure |= RM_ROW_UNDECIDED;
  return rm_nan_bits(format);
#else
  return rm_decide(rm_norm_weight_gradient_dd_ball, rm_norm_weight_gradient_ball, &w, 0, format, state);
#endif
}

RM_STATIC void rm_norm_weight_finish(const rm_norm_weights *s, const rm_weight_range *range, const rm_dd_ball *value,
                                     char *out, rm_row_state *state) {
  uint64_t bits;
#if !RM_DEVICE
  if (s->f.balls) { /* the middle and its low part */
    const int64_t i = (out - s->f.balls->origin) / rm_size_of(s->f.format);
    s->f.balls->middle[i] = value->hi;
    s->f.balls->radius[i] = (1.0 + 0x1p-50) * (value->err + __builtin_fabs(value->lo));
    return;
  }
#endif
  if (rm_dd_ball_round(value, s->f.format, RM_NEAREST, &state->flags, &bits)) state->tiers.fast++;
  else if (rm_row_defer(state)) return;
  else bits = rm_norm_weight_accurate(s, range, state);
  rm_write_bits(out, bits, s->f.format);
}

/* Column i, of all sets. */
RM_FN rm_weight_range rm_norm_weight_column(const rm_norm_problem *f, int64_t i) {
  const rm_weight_range range = {0, f->sets[1], 0, f->outer, i, i + 1};
  return range;
}

/* Adds the sum of terms of one column to the total in two parts. */
RM_FN void rm_norm_weight_join(double *hi, double *lo, double *sum) {
  double e;
  *hi = rm_two_sum(*hi, *sum, &e);
  *lo += e;
  *sum = 0.0;
}

/* Adds a share's part of a column. lo is a sum of `joins` errors, each at most u of a partial sum, which bound/(72 u)
 * exceeds; it is off by joins^2 u bound/72. */
RM_FN void rm_norm_weight_add(rm_dd_ball *total, double hi, double lo, double bound, int64_t joins) {
  const double j = (double)joins;
  rm_dd_ball v;
  /* Without a bound all terms are 0: what is relative to a term does not underflow. */
  rm_dd_ball_finish(&v, hi, lo, bound != 0.0, RM_BOUND(1.01 * bound + 0x1p-53 * j * j * bound));
  rm_dd_ball_add(total, total, &v);
}

/* The bound of a term: one part is relative to the term, one to g. */
RM_FN double rm_norm_weight_rel(const rm_norm_statistics *t) { return t->rel + (RM_WEIGHT_TERMS + 8) * 0x1p-53; }
RM_FN double rm_norm_weight_err(const rm_norm_statistics *t) { return 1.01 * t->a * t->c_err; }

/* The number of weights, where each belongs to one block of the sets, or to all blocks. */
static inline int64_t rm_norm_weight_channels(const rm_norm_problem *f) { return f->sets[1] * (f->w.outer ? f->outer : 1); }
RM_STATIC void rm_norm_weight_channel(const void *operation, int64_t at, rm_row_state *state) {
  const rm_norm_weights *s = (const rm_norm_weights *)operation;
  const rm_norm_problem *f = &s->f;
  const int per_block = f->w.outer != 0;
  const int64_t set1 = per_block ? at / f->outer : at, block = per_block ? at % f->outer : 0;
  const rm_weight_range range = {set1, set1 + 1, block, per_block ? block + 1 : f->outer, 0, f->inner};
  double *x = rm_row_buffer(state, 0), *g = rm_row_buffer(state, 1), *ones = rm_row_buffer(state, 2);
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  const int64_t all = range.outer_to - range.outer_from;
  const int64_t parts = per_block || !rm_norm_is_short(f) ? all : 1; /* of one block, or of short ones together */
  const int64_t blocks = all / parts, length = blocks * f->inner;
  for (int64_t i = 0; !state->loaded && (i < length || i % RM_ROW_PAD); i++) ones[i] = 1.0;
  state->loaded = 1;
  rm_dd_ball total, term;
  rm_dd_ball_set(&total, 0.0, 0);
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    const rm_norm_statistics *t = &s->statistics[s0 * f->sets[1] + set1];
    const int64_t set = s0 * f->sets[1] + set1;
    if (RM_DEVICE && f->format == RM_F64 ? s->kind[set] == RM_SET_INVALID : t->rel < 0.0) {
      rm_dd_ball_unknown(&total);
      break;
    }
    const rm_norm_wide *wide = &s->wide[set];
    for (int64_t o = range.outer_from; o < range.outer_from + parts; o++) {
      double sum[3], sq[2];
      rm_norm_load_blocks(f, &f->x, rm_norm_set_at(&f->x, s0, set1) + o * f->x.outer, blocks, t->c, state, x);
      rm_norm_load_blocks(f, &f->g, rm_norm_set_at(&f->g, s0, set1) + o * f->g.outer, blocks, 0.0, state, g);
#if !RM_DEVICE
      if (f->format == RM_F64) {
        const rm_wide_row row = {.x = x, .w = ones, .g = g, .c = rm_wide_pair_of(&wide->c)};
        rm_wide_sums sums;
        state->k->wide->sums(length, &row, &sums);
        if (sums.size == 0.0 && sums.size_hi == 0.0 && sums.size_lo == 0.0) continue; /* g is 0, and x finite */
        rm_norm_wide_second(f, length, x, wide, &sums, &term);
        rm_dd_ball_mul(&term, &term, &wide->a);
        rm_dd_ball_add(&total, &total, &term);
        continue;
      }
#else
      if (f->format == RM_F64) {
        const int64_t scale = f->variance.base ? 1 : rm_norm_length(f);
        const rm_norm_share share = {.n = length, .scale = scale, .x = x, .g = g, .sum = wide->c};
        rm_dd_ball gradients;
        rm_rows_add(&share, &gradients, &term);
        rm_dd_ball_mul(&term, &term, &wide->a);
        rm_dd_ball_add(&total, &total, &term);
        continue;
      }
#endif
#if RM_DEVICE
      RM_ROW(state, weighted)(length, g, ones, x, t->c, rm_row_buffer(state, 3), sum);
#else
      state->k->gradients(length, g, x, t->c, sum);
#endif
      double spread = t->spread; /* of the whole set; that of given statistics is not known */
      if (RM_DEVICE || f->variance.base) {
        RM_ROW(state, moments)(length, x, t->c, &sq[0], &sq[1]);
        spread = __builtin_sqrt(sq[1]);
      }
      const double v = t->a * sum[2], root = __builtin_sqrt(sum[1]), n = __builtin_sqrt((double)length);
      const double err =
          t->a * (RM_ROW_MOMENT_ERR * root * spread + t->c_err * (__builtin_fabs(sum[0]) + RM_ROW_MOMENT_ERR * root * n));
      if (v == 0.0 && err == 0.0) continue; /* all terms are 0: none of the factors of err underflows */
      rm_dd_ball_finish(&term, v, 0.0, 1, RM_BOUND(1.01 * err + __builtin_fabs(v) * (t->rel + 0x1p-50)));
      rm_dd_ball_add(&total, &total, &term);
    }
  }
  rm_norm_weight_finish(s, &range, &total, f->y.base + set1 * f->y.set[1] + block * f->y.outer, state);
}
