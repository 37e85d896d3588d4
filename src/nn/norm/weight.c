/* The gradient with respect to the weights of a norm on the host (norm/weight_row.h): sums of g (x - mean)/sqrt(v) over all
 * sets, for the elements that share a weight. In sums down columns each thread adds the terms of its sets. */
#include <stdatomic.h>
#include <stdlib.h>

#include "../../runtime/threads.h"
#include "normalize.h"
#include "../rows/totals.h"
#include "../rows/wide_kernels.h"

#define RM_NUM dd_ball
#include "statistics.inc"
#undef RM_NUM
#define RM_NUM ball
#include "statistics.inc"
#undef RM_NUM

#include "weight_row.h"

enum { COLUMNS = 512 };

/* The terms that one thread has added: arrays of the length of a set for the current sum (of at most RM_WEIGHT_TERMS terms),
 * its bound, and hi and lo. */
typedef struct {
  double *sum, *bound, *hi, *lo;
  int64_t terms, joins;
  int known;
} share;

typedef struct {
  rm_norm_weights w;
  share *shares;
  int count; /* of shares */
  atomic_int *taken; /* more than count if the number of threads was raised meanwhile: then no sum is known */
} sums;

static void join(share *own, int64_t n) {
  if (!own->terms) return;
  own->terms = 0;
  own->joins++;
  for (int64_t i = 0; i < n; i++) rm_norm_weight_join(&own->hi[i], &own->lo[i], &own->sum[i]);
}

/* The same of binary64. A term t = g d a is off by (9.5u^2 + rel) |t|, and by (7.3u + rel) |g dl| a (rows/wide.h). A sum of J
 * terms in two parts has all that its main sum loses in its low one, of which every term passes at most 2 J + 2 additions: it
 * is off by (2 J + 3) u ((J + 3.1) u |t| + 1.1 |g dl| a) for each. */
static void wide_terms(const sums *s, const rm_norm_wide *t, const double *x, const double *g, const share *own,
                       const rm_row_state *state) {
  const rm_norm_problem *f = &s->w.f;
  const double j = (double)(f->sets[0] * f->sets[1]), u = 0x1p-53, a = t->a.hi, rel = rm_wide_relative(&t->a);
  const rm_wide_row row = {.n = f->inner,
                           .x = x,
                           .g = g,
                           .c = rm_wide_pair_of(&t->c),
                           .a = rm_wide_pair_of(&t->a),
                           .rel = (2.3 * (j + 3.0) * (j + 3.0) + 10.0) * u * u + rel,
                           .slope = a * ((2.3 * j + 12.0) * u + rel),
                           .err = rm_wide_bound(t->c.err == 0.0, 1.01 * t->c.err * a)};
  state->k->wide->columns(&row, own->hi, own->lo, own->bound);
}

/* Adds the terms of a set to the share of the thread. */
static void terms_of_set(const void *operation, int64_t set, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_problem *f = &s->w.f;
  const rm_norm_statistics *t = &s->w.statistics[set];
  double *x = rm_row_buffer(state, 0), *g = rm_row_buffer(state, 1);
  if (!state->loaded) state->loaded = 1 + atomic_fetch_add(s->taken, 1);
  rm_norm_weight_statistics(&s->w, set, state); /* and x */
  if (state->loaded > s->count) return;
  share *own = &s->shares[state->loaded - 1];
  if (t->rel < 0.0) own->known = 0;
  if (!own->known) return;
  rm_norm_load(f, &f->g, set / f->sets[1], set % f->sets[1], 0.0, state, g);
  if (f->format == RM_F64) {
    wide_terms(s, &s->w.wide[set], x, g, own, state);
    return;
  }
  state->k->columns(f->inner, g, x, t->c, t->a, rm_norm_weight_rel(t), rm_norm_weight_err(t), own->sum, own->bound);
  if (++own->terms == RM_WEIGHT_TERMS) join(own, f->inner);
}

/* Adds the shares. */
static void columns(const void *operation, int64_t block, rm_row_state *state) {
  const sums *s = operation;
  const rm_norm_problem *f = &s->w.f;
  const int64_t first = block * COLUMNS, n = f->inner - first < COLUMNS ? f->inner - first : COLUMNS;
  const int taken = atomic_load(s->taken);
  for (int64_t i = first; i < first + n; i++) {
    rm_dd_ball total;
    rm_dd_ball_set(&total, 0.0, 0);
    if (taken > s->count) rm_dd_ball_unknown(&total);
    for (int k = 0; k < taken && k < s->count; k++) {
      const share *part = &s->shares[k];
      rm_norm_weight_add(&total, part->hi[i], part->lo[i], part->bound[i], part->joins);
      if (!part->known) rm_dd_ball_unknown(&total);
    }
    const rm_weight_range range = rm_norm_weight_column(f, i);
    rm_norm_weight_finish(&s->w, &range, &total, f->y.base + i * f->y.inner, state);
  }
}

static rm_status by_columns(sums *s) {
  const rm_norm_problem *f = &s->w.f;
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

rm_status rm_norm_backward_weights(const rm_norm_problem *f) {
  const size_t sets = (size_t)(f->sets[0] * f->sets[1]);
  const size_t wide = f->format == RM_F64 ? sets + 1 : 1;
  sums s = {
      {f->format, *f, calloc(sets + 1, sizeof(rm_norm_statistics)), calloc(sets + 1, 1), calloc(wide, sizeof(rm_norm_wide))},
      NULL,
      rm_threads_for(INT64_MAX),
      NULL};
  rm_status status = RM_ERR_MEMORY;
  if (s.w.statistics && s.w.kind && s.w.wide) {
    if (f->w.inner) {
      status = by_columns(&s);
    } else {
      status = rm_each_row((int64_t)sets, rm_norm_length(f), 4, rm_norm_weight_statistics, &s.w);
      if (!status) status = rm_each_row(rm_norm_weight_channels(f), rm_norm_length(f), 4, rm_norm_weight_channel, &s.w);
    }
  }
  free(s.w.statistics);
  free(s.w.kind);
  free(s.w.wide);
  return status;
}
