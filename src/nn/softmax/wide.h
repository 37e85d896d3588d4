/* Rows of binary64: softmax, log_softmax and logsumexp by vectors in double-double (rows/wide_exp.h); on the host. What that
 * leaves undecided is left to the accurate phase. */
#pragma once

#include "../../../crlibm/exp/exp_wide.h"
#include "../rows/wide_numbers.h"
#include "args.h"

/* Returns how many results are undecided; their indices are in state->undecided. */
static int64_t rm_softmax_wide(const rm_softmax_problem *f, double *x, double m, char *out, rm_row_state *state) {
  const int64_t n = f->n;
  double *const e = rm_row_buffer(state, 1), *const low = rm_row_buffer(state, 2);
  int64_t *const undecided = state->undecided;
  rm_wide_row s = {.n = n, .x = x, .c = {m, 0.0}, .out = out, .undecided = undecided};
  rm_dd_ball sum, a;
  if (f->kind == RM_SOFTMAX) {
    rm_wide_sum(&sum, n, x, m, -1, e, low);
    rm_dd_ball_set(&a, 1.0, 0);
    rm_dd_ball_div(&a, &a, &sum);
    return rm_wide_scale(n, x, m, -1, e, low, &a, out, state);
  }
  rm_wide_sum(&sum, n, x, m, RM_ROW_FIRST(n, x, m), NULL, NULL);
  const int known = rm_wide_log1p(&a, &sum);
  if (f->kind == RM_LOGSUMEXP) {
    undecided[0] = 0;
    if (!known) return 1;
    rm_dd_ball_set(&sum, m, 0);
    rm_dd_ball_add(&sum, &sum, &a);
    return !rm_wide_write(&sum, 0, out, &state->flags);
  }
  for (int64_t i = 0; !known && i < n; i++) undecided[i] = i;
  if (!known) return n;
  s.a = rm_wide_pair_of(&a);
  s.err = 1.01 * a.err;
  return state->k->wide->shifted(&s);
}

/* Where all g are equal, as those of a sum are, the difference of g and the sum of g y is a number of which a sum in two
 * parts has few digits: *rest becomes the sum less g, within 2^-104 of it, by the superaccumulator, and 1 is returned. */
static int rm_softmax_wide_equal(const rm_sum_problem *total, int64_t n, const double *g, rm_dd_ball *rest) {
  rm_superaccumulator acc;
  double part[2];
  uint32_t flags = 0;
  for (int64_t i = 1; i < n; i++)
    if (g[i] != g[0]) return 0;
  rm_sum_exactly(total, &acc);
  rm_superacc_add(&acc, -g[0]);
  const int none = !rm_superacc_get_top(&acc).m;
  for (int k = 0; k < 2; k++) {
    part[k] = rm_to_double(rm_superacc_round(&acc, RM_F64, RM_NEAREST, &flags), RM_F64);
    rm_superacc_add(&acc, -part[k]);
  }
  const double size = __builtin_fabs(part[0]);
  rm_dd_ball_finish(rest, part[0], part[1], !none, size * 0x1p-104);
  return none || (size >= 0x1p-900 && size <= 0x1p900);
}

/* The same of a gradient's rows g and y, sum that of g y, or of g, within a finite bound; y (g - sum) or g - e^y sum. */
static int64_t rm_softmax_wide_gradient(int of_log, const rm_sum_problem *total, const double *g, const double *y,
                                        const rm_dd_ball *sum, char *out, rm_row_state *state) {
  const int64_t n = total->n;
  const double size = __builtin_fabs(sum->hi);
  rm_wide_row s = {.n = n, .x = g, .g = g, .w = y, .out = out, .undecided = state->undecided};
  if (of_log) {
    s.x = y, s.a = rm_wide_pair_of(sum);
    s.rel = 1.01 * RM_EXP_WIDE_ERR + 0x1p-100;
    s.err = 1.01 * sum->err;
    s.slope_hi = size + sum->err > 0.0 ? RM_WIDE_TINY : 0.0;
    s.slope = (size + sum->err) * 0x1p-951 + s.slope_hi;
    return state->k->wide->less_exp(&s);
  }
  double *const zeros = rm_row_buffer(state, 3);
  if (!state->loaded) __builtin_memset(zeros, 0, state->pitch * sizeof *zeros);
  state->loaded = 1;
  rm_dd_ball rest;
  if (rm_softmax_wide_equal(total, n, g, &rest)) s.x = zeros, sum = &rest; /* (0 - rest) y */
  s.b = zeros, s.c = rm_wide_pair_of(sum), s.a = (rm_wide_pair){1.0, 0.0};
  s.rel = 0x1.1p-102, s.slope = 0x1.4p-50, s.err = 1.01 * sum->err; /* as rm_norm_wide_forward has them */
  return state->k->wide->affine(&s);
}
