/* Sets of binary64: statistics in double-double, results by vectors (rows/wide.h); on the host. What that leaves undecided is
 * left to the accurate phase.
 *
 * c is the mean within c.err. The sum q of (x - c.hi)^2 is n (variance + (mean - c.hi)^2): variance = q/n - (c.lo -+
 * c.err)^2, which cancels nothing, since the second part is below 2^-100 c^2. Numbers with an error bound
 * (crlibm/enclosure/dd_ball.h) follow every step. Without a mean c is 0; given statistics are exact. */
#pragma once

#include "../rows/wide_kernels.h"
#include "normalize.h"

/* Returns 0 where the statistics are not known well enough. */
int rm_norm_wide_statistics(const rm_norm_problem *f, int64_t set0, int64_t set1, const double *x, rm_norm_wide *t) {
  rm_dd_ball n, low;
  if (f->variance.base) {
    rm_dd_ball_set(&t->c, rm_norm_given(f, &f->mean, set0, set1), 0);
    rm_dd_ball_set(&t->v, rm_norm_given(f, &f->variance, set0, set1), 0);
  } else {
    const rm_terms terms = {(const char *)x, sizeof *x}, one = {NULL, 0};
    rm_sum_problem p = {rm_norm_length(f), terms, one, RM_F64, NULL};
    double hi, lo, err;
    rm_dd_ball_set_i64(&n, p.n, 0);
    rm_dd_ball_set(&t->c, 0.0, 0);
    if (f->centered) {
      rm_problem_total_dd_ball(&t->c, &p, 0);
      rm_dd_ball_div(&t->c, &t->c, &n);
    }
    const double shift = t->c.hi;
    p.shift = &shift;
    if (!(t->c.err < 0x1p900) || !rm_sum_approximately(&p, 1, &hi, &lo, &err)) return 0;
    rm_dd_ball_finish(&t->v, hi, lo, 1, err);
    rm_dd_ball_div(&t->v, &t->v, &n);
    rm_dd_ball_finish(&low, t->c.lo, 0.0, t->c.err != 0.0, t->c.err);
    rm_dd_ball_mul(&low, &low, &low);
    rm_dd_ball_sub(&t->v, &t->v, &low);
  }
  rm_dd_ball_set(&low, f->eps, 0);
  rm_dd_ball_add(&t->v, &t->v, &low);
  if (!(t->v.hi >= 0x1p-600 && t->v.hi <= 0x1p600 && t->v.err <= 0x1p-57 * t->v.hi && t->c.err < 0x1p900)) return 0;
  rm_dd_ball_sqrt(&low, &t->v);
  rm_dd_ball_set(&n, 1.0, 0);
  rm_dd_ball_div(&t->a, &n, &low);
  return t->a.err <= 0x1p-57 * t->a.hi;
}

/* Rounds the results of a set by a function of rows/wide_kernels.h, block by block. Returns how many indices are in
 * state->undecided. */
static int64_t rm_norm_wide_blocks(const rm_norm_problem *f, int64_t set0, int64_t set1,
                                   int64_t (*round)(const rm_wide_row *), rm_wide_row *s, rm_row_state *state) {
  int64_t count = 0;
  const int64_t n = rm_norm_length(f);
  s->n = rm_norm_in_place(f) ? f->inner : n;
  for (int64_t at = 0; at < n; at += s->n) {
    if (at) s->x += s->n, s->w += s->n, s->b += s->b ? s->n : 0, s->g += s->g ? s->n : 0;
    s->out = rm_norm_result_at(f, set0, set1, at, state), s->undecided = state->undecided + count;
    const int64_t undecided = round(s);
    for (int64_t j = 0; at && j < undecided; j++) s->undecided[j] += at;
    count += undecided;
  }
  return count;
}

/* The results of a set: bounds as rm_wide_affine takes them. */
static int64_t rm_norm_wide_forward(const rm_norm_problem *f, int64_t set0, int64_t set1, const rm_norm_wide *t,
                                    rm_wide_row *s, rm_row_state *state) {
  const double rel = rm_wide_relative(&t->a), a = t->a.hi;
  s->c = rm_wide_pair_of(&t->c), s->a = rm_wide_pair_of(&t->a);
  s->rel = 0x1.1p-102 + rel;
  s->slope = a * (0x1.4p-50 + rel);
  s->err = rm_wide_bound(t->c.err == 0.0, 1.01 * t->c.err * a);
  return rm_norm_wide_blocks(f, set0, set1, state->k->wide->affine, s, state);
}

/* What sums of h (x - c) lose by underflow, of at most n terms: |x - c| is at most the root of n times the variance, or what
 * is there beside a given mean. */
static double rm_norm_wide_underflow(const rm_norm_problem *f, int64_t n, const double *x, const rm_norm_wide *t) {
  double most = 2.0 * __builtin_sqrt((double)rm_norm_length(f) * (t->v.hi + __builtin_fabs(f->eps)));
  for (int64_t i = 0; f->variance.base && i < n; i++) {
    const double d = 2.0 * __builtin_fabs(x[i] - t->c.hi);
    most = d > most ? d : most;
  }
  return (double)n * 0x1p-1065 * (1.0 + most);
}

void rm_norm_wide_second(const rm_norm_problem *f, int64_t n, const double *x, const rm_norm_wide *t,
                         const rm_wide_sums *sums, rm_dd_ball *second) {
  rm_wide_second(second, sums, 1.01 * t->c.err * sums->size + rm_norm_wide_underflow(f, n, x, t));
}

/* The gradient with respect to x: rows x, g and w, of which bounds are as rm_wide_centered takes them. Returns 0 where they
 * are not known, else the number of undecided results in *undecided. */
static int rm_norm_wide_backward(const rm_norm_problem *f, int64_t set0, int64_t set1, const rm_norm_wide *t, rm_wide_row *s,
                                 rm_row_state *state, int64_t *undecided) {
  const int64_t n = rm_norm_length(f);
  rm_dd_ball c1, b0, count;
  rm_dd_ball_set(&c1, 0.0, 0);
  rm_dd_ball_set(&b0, 0.0, 0);
  s->c = rm_wide_pair_of(&t->c), s->a = rm_wide_pair_of(&t->a);
  if (!f->variance.base) {
    rm_wide_sums sums;
    state->k->wide->sums(n, s, &sums);
    rm_dd_ball_set_i64(&count, n, 0);
    rm_norm_wide_second(f, n, s->x, t, &sums, &b0);
    rm_dd_ball_div(&b0, &b0, &count);
    rm_dd_ball_div(&b0, &b0, &t->v);
    if (f->centered) {
      rm_wide_first(&c1, &sums, n);
      rm_dd_ball_div(&c1, &c1, &count);
    }
  }
  if (!(b0.err < 0x1p600 && c1.err < 0x1p600)) return 0;
  const double a = t->a.hi, b = __builtin_fabs(b0.hi);
  s->c1 = rm_wide_pair_of(&c1), s->b0 = rm_wide_pair_of(&b0);
  s->rel_a = rm_wide_relative(&t->a);
  s->rel = 0x1.1p-101 * a;
  s->slope_hi = rm_wide_bound(b0.err == 0.0, 1.01 * a * b0.err);
  s->slope = s->slope_hi + 1.01 * a * b * (12.5 * 0x1p-53 + s->rel_a);
  s->err = 1.01 * a * (0x1p-101 * __builtin_fabs(c1.hi) + c1.err + t->c.err * (b + b0.err));
  s->err = rm_wide_bound(c1.hi == 0.0 && c1.err == 0.0 && (t->c.err == 0.0 || (b == 0.0 && b0.err == 0.0)), s->err);
  *undecided = rm_norm_wide_blocks(f, set0, set1, state->k->wide->centered, s, state);
  return 1;
}
