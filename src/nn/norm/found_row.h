/* Statistics of sets that a device returns: mean and 1/sqrt(variance + eps), and the running statistics of a batch norm,
 * which become (1 - m) r + m s. Device code, included after norm/normalize.inl; the host has rm_norm_store_statistics.
 *
 * The fast phase, with the bounds of rm_norm_approximate: the mean is c within c_err, the root a within rel a. The relative
 * error of v = variance + eps, off/v, is at most rel/0.51, and its rounding 2^-53, less than rel: v is within 2 rel v.
 * With u = 2^-53, its difference from eps is off by u, its product with n/(n - 1) by 2u more. (1 - m) r is off by 2u, m s by
 * u and what s is, and their sum adds u: 8u of both magnitudes are counted, and 2^-1070 for what underflows. 1 % covers what
 * is of second order.
 *
 * All values but the root are rational with dividends of fewer than 9,000 bits: m and 1 - m have at most 1,075, r 2,100, and
 * the sums as in normalize.inl, so that balls hold them. A root on a boundary is one as there: its square is a quotient of
 * such numbers. A set with a number that is not finite has NaN for all; a running statistic that is not finite stays as it is
 * beside a set of finite numbers. */
#pragma once

#include "found.h"
#include "normalize.h"

typedef struct {
  rm_norm_row *row; /* of a problem without eps */
  double momentum, old;
} rm_norm_running_row;

#define RM_NUM dd_ball
#include "found_formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "found_formula.inc"
#undef RM_NUM

enum { RM_FOUND_MEAN, RM_FOUND_ROOT, RM_FOUND_RUNNING, RM_FOUND = RM_FOUND_RUNNING + 2 };

RM_FN char *rm_norm_found_at(const rm_norm_found *s, int k, int64_t set, int *format) {
  char *const base[RM_FOUND] = {s->mean, s->root, s->running[0], s->running[1]};
  *format = k < RM_FOUND_RUNNING ? s->format : s->running_format;
  return base[k] ? base[k] + set * rm_size_of(*format) : NULL;
}

/* Rounds the value of the fast phase, of t of a set of n elements and the old value, where its bound decides that. */
RM_STATIC int rm_norm_found_decide(const rm_norm_found *s, const rm_norm_statistics *t, int64_t n, int k, double old,
                                   uint64_t *bits) {
  const double m = s->momentum;
  double y = t->c, err = t->c_err;
  if (k == RM_FOUND_ROOT) y = t->a, err = t->a * t->rel;
  if (k == RM_FOUND_RUNNING + 1) {
    const double v = t->v - s->f.eps, q = (double)n / (double)(n - 1);
    y = v * q, err = 1.01 * q * (2.0 * t->rel * t->v + 0x1p-51 * __builtin_fabs(v));
  }
  if (k >= RM_FOUND_RUNNING) {
    const double a = m * y, b = (1.0 - m) * old;
    y = a + b, err = 1.01 * __builtin_fabs(m) * err + 0x1p-50 * (__builtin_fabs(a) + __builtin_fabs(b)) + 0x1p-1070;
  }
  err = RM_BOUND(err);
  if (y == 0.0 && err == 0.0) {
    *bits = 0;
    return 1;
  }
  if (!(err < __builtin_fabs(y)) || !rm_is_finite(y)) return 0;
  int undecided = 1;
  uint32_t flags = 0; /* a device has nowhere to raise them */
  *bits = rm_round_dd(y, 0.0, err, 0, k < RM_FOUND_RUNNING ? s->format : s->running_format, RM_NEAREST, &flags, &undecided);
  return !undecided;
}

RM_STATIC void rm_norm_found_set(const void *operation, int64_t set, rm_row_state *state) {
  const rm_norm_found *s = (const rm_norm_found *)operation;
  const rm_norm_problem *f = &s->f;
  const int64_t set0 = set / f->sets[1], set1 = set % f->sets[1], n = rm_norm_length(f);
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  double *x = rm_row_buffer(state, 0), old[RM_FOUND] = {0.0, 0.0, 0.0, 0.0};
  uint64_t bits[RM_FOUND] = {0, 0, 0, 0};
  rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
  rm_norm_statistics t;
  const int known = rm_norm_approximate(f, set0, set1, x, state, &t);
  if (!known && rm_row_defer(state)) return;
  int format, open = 0;
  RM_UNROLL for (int k = 0; k < RM_FOUND; k++) { /* so that what is of each k lies in registers */
    const char *const at = rm_norm_found_at(s, k, set, &format);
    if (!at) continue;
    if (k >= RM_FOUND_RUNNING) old[k] = rm_read_element(at, format);
    if (known && k >= RM_FOUND_RUNNING && !rm_is_finite(old[k])) bits[k] = rm_read_bits(at, format);
    else if (!known || !rm_norm_found_decide(s, &t, n, k, old[k], &bits[k])) open |= 1 << k;
  }
  if (open) {
    if (rm_row_defer(state)) return; /* nothing is written before all is known */
    rm_norm_problem without_eps = *f;
    without_eps.eps = 0.0;
    rm_norm_row r;
    rm_norm_row_begin(f, set0, set1, &r);
    r.x = x;
    state->limbs = RM_FIRST_LIMBS;
    const int kind = rm_norm_classify(f, set0, set1, n, x), finite = !rm_norm_any_not_finite(n, x);
    for (int k = 0; k < RM_FOUND; k++) {
      if (!(open >> k & 1)) continue;
      const char *const at = rm_norm_found_at(s, k, set, &format);
      rm_norm_running_row running = {&r, s->momentum, old[k]};
      if (k == RM_FOUND_RUNNING || (k > RM_FOUND_RUNNING && !(open >> RM_FOUND_RUNNING & 1))) {
        rm_norm_row_begin(&without_eps, set0, set1, &r);
        state->limbs = RM_FIRST_LIMBS;
      }
      if (k < RM_FOUND_RUNNING ? kind == RM_SET_INVALID : !finite) bits[k] = rm_nan_bits(format);
      else if (k >= RM_FOUND_RUNNING && !rm_is_finite(old[k])) bits[k] = rm_read_bits(at, format);
      else
        bits[k] = k < RM_FOUND_RUNNING ? rm_decide(rm_norm_statistic_dd_ball, rm_norm_statistic_ball, &r, k, format, state)
                                       : rm_decide(rm_norm_running_dd_ball, rm_norm_running_ball, &running,
                                                   k - RM_FOUND_RUNNING, format, state);
    }
  }
  RM_ROW_SYNC(); /* each thread has read what is replaced */
  RM_UNROLL for (int k = 0; k < RM_FOUND; k++) {
    char *const at = rm_norm_found_at(s, k, set, &format);
    if (at) rm_write_bits(at, bits[k], format);
  }
}
