/* The gradient by the weights of a norm: sums of g (x - mean)/sqrt(v) over all sets, for the elements that share a weight.
 *
 * Where a weight is shared within blocks only by sets (layer norm), sums run down columns: t = g (x - c) a is rounded by at most 3u and off by
 * |t| rel (a's error, normalize.c) and |g| a c_err; each thread adds at most ROWS terms plainly, then joins them by two-sums. Otherwise a
 * block's sum of g (x - c) is off by RM_ROW_MOMENT_ERR sqrt(sum of g^2) D and c_err |sum of g| (normalize.c).
 *
 * Sums of quotients by different roots have no useful separation bound. What balls of 2^15 bits do not tell from a boundary is taken for it; a
 * sum that cancels exactly is 0 in that way. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../api/threads.h"
#include "../reduce/elements.h"
#include "normalize.h"
#include "totals.h"

typedef struct {
  const rm_norm_job *f;
  rm_row_state *state;
  double *x, *g;
  int64_t set1_from, set1_to, outer_from, outer_to, inner_from, inner_to;
  rm_norm_row row;
} rm_weight_sum;

#define RM_NUM near
#include "normalize_exact_statistics.h"
#include "normalize_weight_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "normalize_exact_statistics.h"
#include "normalize_weight_exact.h"
#undef RM_NUM

enum { COLUMNS = 512, ROWS = 64 };

/* What one thread has added of its sets' terms: room for the elements of a set at sum (at most ROWS terms), bound, hi and lo. */
typedef struct {
  double *sum, *bound, *hi, *lo;
  int64_t terms, joins;
  int known;
} share;

typedef struct {
  const rm_norm_job *f;
  rm_norm_statistics *statistics; /* of each set; rel < 0: not known */
  signed char *kind;              /* RM_SET_ of each set */
  share *shares;
  int count;         /* of shares */
  atomic_int *taken; /* more than there are, when the number of threads was raised meanwhile: then no sum is known */
} sums;

static void statistics_of_set(const void *operation, int64_t set, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_job *f = s->f;
  const int64_t set0 = set / f->sets[1], set1 = set % f->sets[1];
  double *x = rm_row_buffer(state, 0);
  rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
  s->kind[set] = RM_SET_ORDINARY;
  if (rm_norm_approximate(f, set0, set1, x, state, &s->statistics[set])) return;
  s->statistics[set].rel = -1.0;
  s->kind[set] = (signed char)rm_norm_classify(f, set0, set1, rm_norm_length(f), x);
}

/* A NaN for a set of no definite statistics, or a sum with a gradient that is not finite; else 0. */
static int is_bad(const sums *s, const rm_weight_sum *w, int *nan) {
  const rm_norm_job *f = s->f;
  int bad = 0;
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
      bad |= s->kind[s0 * f->sets[1] + s1] == RM_SET_INVALID;
      const char *g = f->g.base + s0 * f->g.set[0] + s1 * f->g.set[1], *x = f->x.base + s0 * f->x.set[0] + s1 * f->x.set[1];
      for (int64_t o = w->outer_from; o < w->outer_to; o++) {
        for (int64_t k = w->inner_from; k < w->inner_to; k++) {
          const double v = rm_read_element(g + o * f->g.outer + k * f->g.inner, f->format);
          const double u = rm_read_element(x + o * f->x.outer + k * f->x.inner, f->format);
          bad |= v - v != 0.0 || u - u != 0.0;
          *nan |= v != v || u != u;
        }
      }
    }
  }
  return bad;
}

static void finish(const sums *s, rm_weight_sum *w, const rm_near *value, char *out, rm_row_state *state) {
  uint64_t bits;
  int nan = 0;
  if (rm_near_round(value, s->f->format, RM_NEAREST, &state->flags, &bits)) {
    state->tiers.fast++;
  } else if (is_bad(s, w, &nan)) { /* an infinite term meets a deviation whose size no limit gives */
    if (!nan) state->flags |= RM_FLAG_INVALID;
    bits = rm_nan_bits(s->f->format);
  } else {
    w->f = s->f;
    w->state = state;
    bits = rm_decide(weight_gradient_near, weight_gradient_ball, w, 0, s->f->format, state);
  }
  rm_write_bits(out, bits, s->f->format);
}

static void join(share *own, int64_t n) {
  if (!own->terms) return;
  own->terms = 0;
  own->joins++;
  for (int64_t i = 0; i < n; i++) {
    double e;
    own->hi[i] = rm_near_two_sum(own->hi[i], own->sum[i], &e);
    own->lo[i] += e;
    own->sum[i] = 0.0;
  }
}

/* The terms of a set, to the share of the thread. */
static void terms_of_set(const void *operation, int64_t set, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_job *f = s->f;
  const rm_norm_statistics *t = &s->statistics[set];
  double *x = rm_row_buffer(state, 0), *g = rm_row_buffer(state, 1);
  if (!state->loaded) state->loaded = 1 + atomic_fetch_add(s->taken, 1);
  statistics_of_set(operation, set, state); /* and x */
  if (state->loaded > s->count) return;
  share *own = &s->shares[state->loaded - 1];
  if (t->rel < 0.0) own->known = 0;
  if (!own->known) return;
  rm_norm_load(f, &f->g, set / f->sets[1], set % f->sets[1], 0.0, state, g);
  state->k->columns(f->inner, g, x, t->c, t->a, t->rel + (ROWS + 8) * 0x1p-53, 1.01 * t->a * t->c_err, own->sum, own->bound);
  if (++own->terms == ROWS) join(own, f->inner);
}

/* The sums of the shares. */
static void columns(const void *operation, int64_t block, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_job *f = s->f;
  const int64_t first = block * COLUMNS, n = f->inner - first < COLUMNS ? f->inner - first : COLUMNS;
  const int taken = atomic_load(s->taken);
  for (int64_t i = first; i < first + n; i++) {
    rm_near total, v;
    rm_near_set(&total, 0.0, 0);
    if (taken > s->count) rm_near_unknown(&total);
    for (int k = 0; k < taken && k < s->count; k++) {
      const share *part = &s->shares[k];
      const double joins = (double)part->joins;
      /* lo is a sum of `joins` errors, each at most u of a partial sum, which bound/(72 u) exceeds; it is off by joins^2 u bound/72. */
      rm_near_finish(&v, part->hi[i], part->lo[i], 1, RM_BOUND(1.01 * part->bound[i] + 0x1p-53 * joins * joins * part->bound[i]));
      rm_near_add(&total, &total, &v);
      if (!part->known) rm_near_unknown(&total);
    }
    rm_weight_sum w = {.x = rm_row_buffer(state, 0), .g = rm_row_buffer(state, 1), .set1_to = f->sets[1], .outer_to = f->outer,
                       .inner_from = i, .inner_to = i + 1};
    finish(s, &w, &total, f->y.base + i * f->y.inner, state);
  }
}

static rm_status by_columns(sums *s) {
  const rm_norm_job *f = s->f;
  const size_t pitch = ((size_t)f->inner + 2 * RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
  atomic_int taken = 0;
  double *room = calloc((size_t)s->count * 4 * pitch, sizeof *room);
  s->shares = calloc((size_t)s->count, sizeof *s->shares);
  s->taken = &taken;
  rm_status status = RM_ERR_MEMORY;
  if (room && s->shares) {
    for (int k = 0; k < s->count; k++) {
      double *at = room + (size_t)k * 4 * pitch;
      s->shares[k] = (share){at, at + pitch, at + 2 * pitch, at + 3 * pitch, 0, 0, 1};
    }
    status = rm_each_row(f->sets[0] * f->sets[1], rm_norm_length(f), 4, terms_of_set, s);
    for (int k = 0; k < s->count; k++) join(&s->shares[k], f->inner);
    if (!status) status = rm_each_row((f->inner + COLUMNS - 1) / COLUMNS, rm_norm_length(f), 4, columns, s);
  }
  free(room);
  free(s->shares);
  return status;
}

/* One weight for a block of each set, or for all of them. */
static void channel(const void *operation, int64_t at, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_job *f = s->f;
  const int per_block = f->w.outer != 0;
  const int64_t set1 = per_block ? at / f->outer : at, block = per_block ? at % f->outer : 0;
  rm_weight_sum w = {.x = rm_row_buffer(state, 0), .g = rm_row_buffer(state, 1), .set1_from = set1, .set1_to = set1 + 1,
                     .outer_from = block, .outer_to = per_block ? block + 1 : f->outer, .inner_to = f->inner};
  double *ones = rm_row_buffer(state, 2), *h = rm_row_buffer(state, 3);
  for (int64_t i = 0; i < f->inner || i % RM_ROW_PAD; i++) ones[i] = 1.0;
  rm_near total, term;
  rm_near_set(&total, 0.0, 0);
  rm_norm_job part = *f;
  part.outer = 1;
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    const rm_norm_statistics *t = &s->statistics[s0 * f->sets[1] + set1];
    if (f->format == RM_F64 || t->rel < 0.0) {
      rm_near_unknown(&total);
      break;
    }
    for (int64_t o = w.outer_from; o < w.outer_to; o++) {
      double sum[3], sq[2];
      part.x.base = f->x.base + o * f->x.outer, part.g.base = f->g.base + o * f->g.outer;
      rm_norm_load(&part, &part.x, s0, set1, t->c, state, w.x);
      rm_norm_load(&part, &part.g, s0, set1, 0.0, state, w.g);
      state->k->weighted(f->inner, w.g, ones, w.x, t->c, h, sum);
      state->k->moments(f->inner, w.x, t->c, &sq[0], &sq[1]);
      const double v = t->a * sum[2], root = __builtin_sqrt(sum[1]), n = __builtin_sqrt((double)f->inner);
      const double err = t->a * (RM_ROW_MOMENT_ERR * root * __builtin_sqrt(sq[1]) + t->c_err * (__builtin_fabs(sum[0]) + RM_ROW_MOMENT_ERR * root * n));
      rm_near_finish(&term, v, 0.0, 1, RM_BOUND(1.01 * err + __builtin_fabs(v) * (t->rel + 0x1p-50)));
      rm_near_add(&total, &total, &term);
    }
  }
  finish(s, &w, &total, f->y.base + set1 * f->y.set[1] + block * f->y.outer, state);
}

rm_status rm_norm_backward_weights(const rm_norm_job *f) {
  const size_t sets = (size_t)(f->sets[0] * f->sets[1]);
  sums s = {f, calloc(sets + 1, sizeof *s.statistics), calloc(sets + 1, 1), NULL, rm_threads_for(INT64_MAX), NULL};
  rm_status status = RM_ERR_MEMORY;
  if (s.statistics && s.kind) {
    if (f->w.inner) {
      status = by_columns(&s);
    } else {
      status = rm_each_row((int64_t)sets, rm_norm_length(f), 4, statistics_of_set, &s);
      if (!status) status = rm_each_row(f->sets[1] * (f->w.outer ? f->outer : 1), rm_norm_length(f), 4, channel, &s);
    }
  }
  free(s.statistics);
  free(s.kind);
  return status;
}
