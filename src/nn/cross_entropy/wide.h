/* Rows of cross entropy in double-double, by vectors (rows/wide.h, wide_exp.h); on the host. cross_entropy/row.h includes
 * this file.
 *
 * Where more than one class may count, the weights times the scale (formula.inc) are q_c = (a p_c + s) w_c, a = (1 - s) n, or
 * (a, s) = (1, 0) without smoothing; p_c is 1 for the target and 0 for the others where there is one. No p_c is negative, so
 * that nothing cancels, and p, w and x are at most 2^300. Sums over classes are linear in p_c w_c and w_c, which are sums of
 * products of two numbers. */
#pragma once

#include "../../../crlibm/exp/exp_wide.h"
#include "../rows/wide_numbers.h"

/* A row of binary64 of which one class counts, with a finite maximum m: e^(x_j - m) a, a = g w/(divisor S), and for the class
 * itself the sum of the others times -a (rows/wide_exp.h). Returns how many results are undecided; their indices are in
 * state->undecided. */
static int64_t rm_entropy_wide_one(const rm_entropy_row *r, double m, const rm_dd_ball *divisor, char *out) {
  rm_row_state *const state = r->state;
  const int64_t n = r->f->p.n, t = r->target;
  double *const e = rm_row_buffer(state, 3), *const low = rm_row_buffer(state, 4);
  rm_dd_ball others, all, a, w;
  rm_wide_sum(&others, n, r->x, m, t, e, low);
  if (!rm_wide_term(&all, r->x[t], m)) rm_dd_ball_finish(&all, 0.0, 0.0, 1, 0x1p-952);
  rm_dd_ball_add(&all, &all, &others);
  rm_dd_ball_mul(&all, &all, divisor);
  rm_dd_ball_set(&a, r->g, 0);
  rm_dd_ball_set(&w, r->w[t], 0);
  rm_dd_ball_mul(&a, &a, &w);
  rm_dd_ball_div(&a, &a, &all);
  int64_t count = rm_wide_scale(n, r->x, m, t, e, low, &a, out, state);
  rm_dd_ball_mul(&others, &others, &a);
  rm_dd_ball_neg(&others, &others);
  if (!rm_wide_write(&others, t, out, &state->flags)) state->undecided[count++] = t;
  return count;
}

/* Whether the weights of the row that is loaded are as above; r->p becomes their p_c. a and s: the two numbers. */
static int rm_entropy_wide_weights(const rm_entropy_row *r, rm_dd_ball *a, rm_dd_ball *s) {
  const rm_entropy *f = r->f;
  const int64_t n = f->p.n;
  const double smoothing = f->p.label_smoothing;
  int in_range = smoothing == 0.0 || smoothing >= 0x1p-100;
  if (!f->p.probability) {
    __builtin_memset(r->p, 0, r->state->pitch * sizeof *r->p);
    r->p[r->target] = 1.0;
  }
  for (int64_t c = 0; c < n; c++) in_range &= r->p[c] >= 0.0 && r->p[c] <= 0x1p300 && __builtin_fabs(r->w[c]) <= 0x1p300;
  rm_dd_ball_set(a, 1.0, 0);
  rm_dd_ball_set(s, smoothing, 0);
  if (smoothing != 0.0) {
    rm_dd_ball scale;
    rm_dd_ball_set_i64(&scale, n, 0);
    rm_dd_ball_sub(a, a, s);
    rm_dd_ball_mul(a, a, &scale);
  }
  return in_range;
}

/* sum becomes that of the q_c, loss that of q_c (m - x_c), which is unknown where an x_c is not finite; |x_c| is at most
 * 2^300 elsewhere. 0: they are not as above. */
static int rm_entropy_wide_parts(rm_dd_ball *loss, rm_dd_ball *sum, const rm_entropy_row *r, double m) {
  const int64_t n = r->f->p.n;
  double *const ones = rm_row_buffer(r->state, 3), *const x = r->x;
  const double more = (double)n * 0x1p-760; /* 2^-1065 (1 + |x - m|) for a term */
  rm_wide_sums sums;
  rm_dd_ball a, s, t;
  int in_range = rm_entropy_wide_weights(r, &a, &s);
  for (int64_t c = 0; c < n; c++) in_range &= __builtin_fabs(x[c]) <= 0x1p300 || !rm_is_finite(x[c]);
  if (!in_range) return 0;
  rm_wide_row row = {.x = x, .g = r->p, .w = r->w, .c = {m, 0.0}};
  for (int64_t c = n; c % RM_ROW_PAD; c++) x[c] = m;
  rm_nn_kernels()->wide->sums(n, &row, &sums);
  rm_wide_first(sum, &sums, n);
  rm_wide_second(loss, &sums, more);
  rm_dd_ball_mul(sum, sum, &a);
  rm_dd_ball_mul(loss, loss, &a);
  if (r->f->p.label_smoothing != 0.0) {
    for (int64_t c = 0; c < n || c % RM_ROW_PAD; c++) ones[c] = 1.0;
    row.g = r->w, row.w = ones;
    rm_nn_kernels()->wide->sums(n, &row, &sums);
    rm_wide_first(&t, &sums, n);
    rm_dd_ball_mul(&t, &t, &s);
    rm_dd_ball_add(sum, sum, &t);
    rm_wide_second(&t, &sums, more);
    rm_dd_ball_mul(&t, &t, &s);
    rm_dd_ball_add(loss, loss, &t);
  }
  rm_dd_ball_neg(loss, loss);
  for (int64_t c = n; c % RM_ROW_PAD; c++) x[c] = -rm_dd_ball_infinity();
  return 1;
}

/* A row of binary64 whose classes all count, with a finite maximum m: e^(x_j - m) a - q_j k, k = g/(divisor scale), a = k
 * Q/S. What stands for e^(x_j - m), or is 0, is less than 2^-952 from it; weights that underflow are off by less than 2^-760.
 * Of a logit -infinity without weight it is 0. */
static int64_t rm_entropy_wide_all(const rm_entropy_row *r, double m, const rm_dd_ball *divisor, char *out) {
  rm_row_state *const state = r->state;
  const int64_t n = r->f->p.n;
  double *const e = rm_row_buffer(state, 3), *const low = rm_row_buffer(state, 4);
  double *const q = rm_row_buffer(state, 5), *const q_low = rm_row_buffer(state, 6);
  const int smooth = r->f->p.label_smoothing != 0.0;
  rm_dd_ball a, k, s, sum, all, unused;
  int64_t count = 0, *const undecided = state->undecided;
  for (int64_t i = 0; i < n; i++) undecided[i] = i;
  if (!rm_entropy_wide_parts(&unused, &sum, r, m)) return n;
  rm_entropy_wide_weights(r, &a, &s);
  rm_wide_sum(&all, n, r->x, m, -1, e, low);
  rm_dd_ball_set(&k, r->g, 0);
  rm_dd_ball_div(&k, &k, divisor);
  if (smooth) {
    rm_dd_ball_set_i64(&unused, n, 0);
    rm_dd_ball_div(&k, &k, &unused);
  }
  rm_wide_row row = {.n = n, .x = e, .w = low, .g = q, .b = q_low, .b0 = rm_wide_pair_of(&k), .out = out};
  row.rel_a = 0x1p-100 + rm_wide_relative(&k) + rm_wide_relative(&a);
  const rm_wide_row weights = {.n = n, .g = r->p, .w = r->w, .a = rm_wide_pair_of(&a), .b0 = rm_wide_pair_of(&s)};
  rm_dd_ball_mul(&sum, &sum, &k);
  rm_dd_ball_div(&a, &sum, &all);
  const double size = __builtin_fabs(a.hi), size_k = __builtin_fabs(k.hi);
  row.a = rm_wide_pair_of(&a);
  row.rel = 1.01 * RM_EXP_WIDE_ERR + 0x1p-100 + rm_wide_relative(&a);
  row.err = size * 0x1p-950 + size_k * 0x1p-760 + 0x1p-1000;
  row.undecided = undecided;
  if (!(size <= 0x1p300 && size_k <= 0x1p300 && row.rel <= 0x1p-57 && row.rel_a <= 0x1p-57)) return n;
  state->k->wide->weights(&weights, q, q_low);
  const int64_t left = state->k->wide->difference(&row);
  for (int64_t j = 0; j < left; j++) {
    const int64_t i = undecided[j];
    const int weighs = r->w[i] != 0.0 && (smooth || r->p[i] != 0.0);
    if (weighs || r->x[i] != -rm_dd_ball_infinity()) undecided[count++] = i;
    else rm_write_bits(out + i * 8, 0, RM_F64);
  }
  return count;
}
