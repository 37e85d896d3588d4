/* A row of cross_entropy or of its gradient, on the host and on a device.
 *
 * With m the maximum logit and L = log(1 + S') (softmax/row.h), the loss of a row is T + Q L, T = sum of q_c (m - x_c), Q =
 * sum of q_c. In binary64, u = 2^-53: L is off by 1.25 2^-41 L + n 2^-244. A probability may be negative, so that the parts
 * of q_c = ((1 - s) p + s/n) w cancel: with |q|_c = ((1 - s) |p| + s/n) |w|, the roundings of 1 - s, of its product with p
 * and of s/n are within 2.1u of the parts, those of their sum and of the product with w within u each, so that q_c is off by
 * 4.2u |q|_c; m - x_c and its product with q_c add 2u, and a sum of n terms n u of their magnitudes. So T is within (n + 8) u
 * T' of the value, T' the sum of |q|_c (m - x_c), and Q within (n + 8) u Q', Q' the sum of |q|_c; where no p is negative
 * these are sums of |q_c|. Losses are then numbers with a bound (crlibm/enclosure/dd_ball.h), and sums of them too. Gradient:
 * e_j/S Q - q_j, times k = g/divisor. For the one class that counts this is -q (S - e_t)/S, the others summed without it. e_j
 * and S are off by RM_ROW_EXP_ERR and RM_ROW_SUM_ERR, q_j by 4.2u |q|_j, which is |q_j| and what cancels, k by 3u. Q is a
 * compensated sum here, since (n + 8) u would be most of the bound where classes are many: its n two-sums leave at most u
 * times a partial sum each, together n u Q', and their sum is rounded by n u of that: Q is off by (n^2 u + 8) u Q'.
 *
 * With a target, smoothing and no negative w, T = (1 - s) w_t (m - x_t) + s/n R and Q = (1 - s) w_t + s/n W, where R is the
 * sum of w_c (m - x_c) and W that of w_c, which vectors add up within RM_ROW_MOMENT_ERR; without weights W is n. No term is
 * negative: 1 - s, s/n, m - x_t, two products and the sum add less than 8 u.
 *
 * Nothing underflows in these, for formats below binary64 and a label smoothing s that is 0 or at least 2^-100
 * (rm_smooth_enough; others go to the accurate phase). What is not 0 is at least this: a number of the formats 2^-149; 1/n
 * and 1/S 2^-40; 1 - s 2^-53; q_c, either part of it, 2^-351; Q 2^-404, where terms cancel; L and e_j 2^-245; k, by a sum of
 * weights below 2^168, 2^-317. So terms of T are at least 2^-500 and Q L 2^-649; for one class k w/S e_j is 2^-751; otherwise
 * (Q/S) e_j is 2^-689 and its difference from q_j 2^-742. k times that, 2^-1059, may be subnormal and then off by 2^-1075
 * more: but the bound has k (Q/S) e_j 2.25 RM_ROW_EXP_ERR, at least 2^-1049, with 1 % to spare.
 *
 * Values are irrational (Lindemann, Weierstrass) but where logarithms or exponentials have no weight, or all finite elements
 * of a row are equal in a gradient: then they are quotients of exact sums of fewer than 9,000 bits, and exact where they are
 * boundaries of rounding. So they are in a gradient where the q_c add up to 0. In a total the logarithms of several rows may
 * cancel: on the host those that do are left out (row_cancel.h), unless it would take too long to find out: then a total that
 * is a boundary of rounding is undecided (decide.h). */
#pragma once

#include "../../../crlibm/fp/exact.h"
#include "../../../crlibm/log1p/log1p_b64.h"
#include "../../common/elements.h"
#include "args.h"
#if RM_DEVICE
#include "share.h"
#endif
#include "../rows/exp_row.h"
#include "../rows/totals.h"

/* A row that is loaded; g its gradient; one_class: only q_target counts. */
typedef struct {
  const rm_entropy *f;
  rm_row_state *state;
  int64_t target;
  int one_class, in_sums; /* in_sums: T and Q are made from R and W (above) */
  double *x, *p, *w, g;
} rm_entropy_row;

/* What is known of a row's logarithm: it cancels with others, or it does without its terms below e^RM_EXP_TAIL. */
enum { RM_ENTROPY_LEFT_OUT = 1, RM_ENTROPY_TAIL = 2, RM_ENTROPY_RELATION_LIMBS = 16 };

/* The same for the accurate phase, with what it found. */
typedef struct {
  rm_entropy_row row;
  int limbs_dd_ball, limbs_ball;
  char *cancels; /* of each row, in a total on the host: 0, or what is known of its logarithm (row_cancel.h); or NULL */
  int related; /* both searches have been made */
  rm_exp_row e;
  struct {
    rm_dd_ball all, weights, below;
  } dd_ball;
  struct {
    rm_ball all, weights, below;
  } ball;
} rm_entropy_exact;

RM_STATIC int64_t rm_entropy_target(const rm_entropy *f, int64_t row) {
  int64_t t = 0;
  if (f->p.target) RM_READ_WORD(t, (const char *)f->p.target + row * f->p.stride_target, sizeof t);
  return t;
}
RM_STATIC double rm_entropy_weight(const rm_entropy *f, int64_t c) {
  return f->p.weight ? rm_read_element((const char *)f->p.weight + c * f->p.stride_weight, f->format) : 1.0;
}

/* Whether no weight of a class underflows (above). */
RM_STATIC int rm_smooth_enough(const rm_entropy *f) {
  return f->p.label_smoothing == 0.0 || f->p.label_smoothing >= 0x1p-100;
}

/* Loads x and the target; 0 when the row does not count. */
RM_FORMULA int rm_load_entropy(rm_entropy_row *r, int64_t row) {
  const rm_entropy *f = r->f;
  r->target = rm_entropy_target(f, row);
  if (f->p.target && r->target == f->p.ignore_index) return 0;
  RM_ROW(r->state, load)(f->p.n, (const char *)f->p.x + row * f->p.row_x, f->p.stride_x, f->format, -rm_dd_ball_infinity(),
                         r->x);
  if (!f->p.target) {
    RM_ROW(r->state, load)(f->p.n, (const char *)f->p.probability + row * f->p.row_probability, f->p.stride_probability,
                           f->format, 0.0, r->p);
    r->target = -1;
  }
  return 1;
}

RM_STATIC int rm_entropy_load(rm_entropy_exact *r, int64_t row) {
  const rm_entropy_row *a = &r->row;
  if (!rm_load_entropy(&r->row, row)) return 0;
  rm_exp_row_begin(&r->e, a->f->p.n, a->x, RM_ROW(a->state, max)(a->f->p.n, a->x));
  r->limbs_dd_ball = r->limbs_ball = -1;
  return 1;
}

/* The classes that count: from first to end. */
RM_STATIC int64_t rm_first_class(const rm_entropy_row *r) { return r->one_class ? r->target : 0; }
RM_STATIC int64_t rm_end_class(const rm_entropy_row *r) { return r->one_class ? r->target + 1 : r->f->p.n; }

RM_STATIC int rm_entropy_known(const rm_entropy_exact *r, int64_t row) { return r->cancels ? r->cancels[row] : 0; }

/* Whether the logarithm of the row that is loaded, or what remains of it, belongs to the total's tail. */
RM_STATIC int rm_entropy_is_tail(const rm_entropy_exact *r, int known) {
  int tail = r->e.only_tail > 0;
  if (known == RM_ENTROPY_LEFT_OUT) return 0;
  for (int64_t k = 0; k < r->e.n && known == RM_ENTROPY_TAIL && !tail; k++)
    tail = rm_is_finite(r->e.x[k]) && r->e.x[k] - r->e.m < RM_EXP_TAIL;
  return tail;
}

#if !RM_DEVICE
static void rm_entropy_relate(rm_entropy_exact *r);
#endif

#if !RM_DEVICE
#include "wide.h"
#else
/* The row that is loaded, as all threads of a block see it. */
RM_STATIC rm_entropy_share rm_entropy_share_of(const rm_entropy_row *r, double m, int64_t scale) {
  rm_entropy_share s = {.by_class = r->f->p.probability != NULL, .one_class = r->one_class, .n = r->f->p.n};
  s.target = r->target, s.scale = scale, s.smoothing = r->f->p.label_smoothing, s.m = m, s.g = r->g;
  s.x = r->x, s.p = r->p, s.w = r->w, s.undecided = r->state->undecided;
  return s;
}
#endif

#define RM_NUM dd_ball
#include "../rows/exp_row.inc"
#include "../rows/tail.inc"
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "../rows/exp_row.inc"
#include "../rows/tail.inc"
#include "formula.inc"
#undef RM_NUM

#if !RM_DEVICE
#include "row_cancel.h"
#endif

/* What a thread's buffers hold for all rows: the w_c; none of them is negative; the q_c of a class that is not the target. */
enum { RM_ENTROPY_WEIGHTS = 1, RM_ENTROPY_NOT_NEGATIVE = 2, RM_ENTROPY_OTHERS = 4 };

RM_STATIC void rm_begin_entropy(rm_entropy_row *r, const rm_entropy *f, rm_row_state *state) {
  r->f = f;
  r->state = state;
  r->one_class = f->p.target && f->p.label_smoothing == 0.0;
  r->x = rm_row_buffer(state, 0), r->p = rm_row_buffer(state, 1), r->w = rm_row_buffer(state, 2);
  r->in_sums = f->p.target && !r->one_class && f->format != RM_F64 && state->loaded & RM_ENTROPY_NOT_NEGATIVE;
  if (state->loaded) return;
  state->loaded = RM_ENTROPY_WEIGHTS;
  if (f->p.weight) RM_ROW(state, load)(f->p.n, (const char *)f->p.weight, f->p.stride_weight, f->format, 0.0, r->w);
  else
    for (int64_t c = 0; c < f->p.n || c % RM_ROW_PAD; c++) r->w[c] = c < f->p.n ? 1.0 : 0.0;
#if !RM_DEVICE
  int negative = 0;
  for (int64_t c = 0; c < f->p.n; c++) negative |= !(r->w[c] >= 0.0);
  if (!negative) state->loaded |= RM_ENTROPY_NOT_NEGATIVE;
  r->in_sums = f->p.target && !r->one_class && f->format != RM_F64 && !negative;
#endif
}

#if !RM_DEVICE
/* *weights becomes W, *below R (above) of a row with the finite maximum m. Returns whether all terms are finite. */
static int rm_entropy_sums(const rm_entropy_row *r, double m, double *weights, double *below) {
  const int64_t n = r->f->p.n;
  double sums[3];
  for (int64_t c = n; c % RM_ROW_PAD; c++) r->x[c] = m;
  r->state->k->gradients(n, r->w, r->x, m, sums);
  for (int64_t c = n; c % RM_ROW_PAD; c++) r->x[c] = -rm_dd_ball_infinity();
  *weights = r->f->p.weight ? sums[0] : (double)n, *below = -sums[2];
  return rm_is_finite(sums[0]) && rm_is_finite(sums[2]);
}
#endif

RM_FORMULA double rm_class_probability(const rm_entropy_row *r, int64_t c) {
  return r->f->p.probability ? r->p[c] : c == r->target ? 1.0 : 0.0;
}
/* What smoothing leaves to the probabilities, and what it gives to each class: once a row, since a compiler divides again
 * after each store. */
typedef struct {
  double own, each;
} rm_entropy_shares;

RM_FORMULA rm_entropy_shares rm_entropy_shares_of(const rm_entropy_row *r) {
  const double s = r->f->p.label_smoothing;
  rm_entropy_shares shares;
  shares.own = 1.0 - s, shares.each = s / (double)r->f->p.n;
  return shares;
}

/* q_c, and |q|_c (above). */
RM_HOT double rm_entropy_class_weight(const rm_entropy_row *r, int64_t c, const rm_entropy_shares *shares, double *size) {
  const double p = r->f->p.probability ? r->p[c] : c == r->target ? 1.0 : 0.0, a = shares->own * p, b = shares->each;
  *size = (__builtin_fabs(a) + b) * __builtin_fabs(r->w[c]);
  return (a + b) * r->w[c];
}

/* A number that behaves in products with infinities, zeros and NaN as v does, and makes no infinity of finite ones. */
RM_FORMULA double rm_sign_or_special(double v) { return !rm_is_finite(v) || v == 0.0 ? v : v < 0.0 ? -1.0 : 1.0; }

enum { RM_ENTROPY_EXACT_LIMBS = 64 }; /* n (1 - s) p + s has at most 3,300 bits, a sum of weights 2,200: both are exact */

/* That of q_c, unless it is deferred: a negative probability may cancel. */
RM_FORMULA double rm_class_sign(const rm_entropy_row *r, int64_t c, rm_row_state *state) {
  const double s = r->f->p.label_smoothing, p = rm_class_probability(r, c);
  double share = p != 0.0 || s != 0.0 ? 1.0 : 0.0;
  if (!rm_is_finite(p)) {
    share = (1.0 - s) * p + s / (double)r->f->p.n;
  } else if (p < 0.0) {
    rm_ball exact;
    if (rm_row_defer(state)) return 0.0;
    rm_class_share_ball(&exact, r, c, RM_ENTROPY_EXACT_LIMBS);
    share = (double)rm_ball_sign(&exact);
  }
  return share * rm_sign_or_special(r->w[c]);
}

/* 0, or the loss of a row that has no finite one: from m, and from the products of classes with an infinite or zero weight,
 * probability or logit; 0 where it is deferred. */
RM_FORMULA double rm_entropy_special_loss(const rm_entropy_row *r, double m, rm_row_state *state) {
  const int64_t first = rm_first_class(r), end = rm_end_class(r);
  double sum = 0.0;
  int nan = 0;
  if (!rm_is_finite(m)) sum = rm_from_bits64(rm_nan_bits(RM_F64)), nan = rm_is_nan(m);
  const double *const given = r->f->p.probability ? r->p : r->w; /* else a probability is 0 or 1 */
  for (int64_t c = first; c < end; c++) {
    const double x = r->x[c], w = r->w[c];
    if (rm_is_finite(x) && rm_is_finite(w) && rm_is_finite(given[c])) continue;
    const double p = rm_class_probability(r, c);
    nan |= rm_is_nan(x) || rm_is_nan(w) || rm_is_nan(p);
    sum += rm_class_sign(r, c, state) * (rm_is_finite(x) ? 1.0 : -x); /* an infinite weight meets log(...) - x_c > 0 */
    if (state->deferred) return 0.0;
  }
  if (rm_is_nan(sum) && !nan) state->flags |= RM_FLAG_INVALID;
  return sum;
}

/* *d, what a mean divides by, as it is known in double-double; its value where that is 0, infinite or NaN, and else its sign.
 * Weights may cancel, or overflow on the way: the sign of such a sum is that of the exact one. */
RM_STATIC double rm_entropy_divide(const rm_entropy *f, rm_dd_ball *d) {
  double special = 0.0;
  rm_ball sum;
  rm_entropy_divisor_dd_ball(d, f, 0);
  const int sign = rm_dd_ball_sign(d);
  if (sign != RM_SIGN_UNKNOWN) return (double)sign;
  for (int64_t i = 0; i < f->p.rows; i++) {
    const int64_t t = rm_entropy_target(f, i);
    const double w = t == f->p.ignore_index ? 0.0 : rm_entropy_weight(f, t);
    if (!rm_is_finite(w)) special += w;
  }
  if (special != 0.0) return special;
  rm_entropy_divisor_ball(&sum, f, RM_ENTROPY_EXACT_LIMBS);
  return (double)rm_ball_sign(&sum);
}

RM_FORMULA void rm_entropy_loss_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = (const rm_entropy *)operation;
  const int64_t n = f->p.n;
  rm_entropy_row r;
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  rm_begin_entropy(&r, f, state);
  f->specials[row] = 0.0;
  rm_dd_ball *loss = &f->losses[row];
  rm_dd_ball_set(loss, 0.0, 0);
  if (!rm_load_entropy(&r, row)) return;
  const double m = RM_ROW(state, max)(n, r.x);
  double weights = 0.0, apart = 0.0;
  int in_sums = 0;
#if !RM_DEVICE
  in_sums = r.in_sums && rm_smooth_enough(f) && rm_is_finite(m) && rm_entropy_sums(&r, m, &weights, &apart);
#endif
  if (!in_sums) f->specials[row] = rm_entropy_special_loss(&r, m, state);
  if (state->deferred || f->specials[row] != 0.0) return;
  if (f->format != RM_F64 && rm_smooth_enough(f)) {
    const int64_t at = RM_ROW_FIRST(n, r.x, m), first = rm_first_class(&r), end = rm_end_class(&r);
    double t = 0.0, t_size = 0.0, q_sum = 0.0, q_size = 0.0;
    const rm_entropy_shares shares = rm_entropy_shares_of(&r);
    if (in_sums) {
      const double own = shares.own * r.w[r.target];
      t = own * (m - r.x[r.target]) + shares.each * apart;
      q_sum = own + shares.each * weights;
      t_size = t, q_size = q_sum;
    }
    for (int64_t c = first; c < end && !in_sums; c++) {
      double size;
      const double q = rm_entropy_class_weight(&r, c, &shares, &size), below = m - r.x[c];
      t += q * below, t_size += size * below, q_sum += q, q_size += size;
    }
    RM_ROW_SYNC();
    r.x[at] = -rm_dd_ball_infinity();
    const double l = rm_log1p_of(RM_ROW(state, exponentials)(n, r.x, m, rm_row_buffer(state, 3)));
    r.x[at] = m;
    const double count = in_sums ? RM_ROW_MOMENT_ERR + 12.0 * 0x1p-53 : (double)(end - first + 12) * 0x1p-53,
                 l_err = 0x1.4p-41 * l + (double)n * 0x1p-244;
    loss->hi = t + q_sum * l;
    loss->lo = 0.0;
    loss->err = RM_BOUND(1.01 * (count * (t_size + q_size * l) + q_size * l_err) + 0x1p-51 * __builtin_fabs(loss->hi));
    if (!(loss->err < 0x1p200)) rm_dd_ball_unknown(loss);
  } else {
    rm_entropy_exact exact;
    exact.row = r;
    rm_exp_row_begin(&exact.e, n, r.x, m);
    rm_entropy_row_loss_dd_ball(loss, &exact, 0, 0);
  }
}

/* A bound of log2 |w log(1 + S')| for the row that is loaded and its class, where its logit is the greatest: 0 < S' < n
 * e^(second - m). That 1.44 is less than 1/log 2 covers the rounding of the difference. Infinite where another logit is the
 * greatest. */
RM_STATIC double rm_loss_exponent(const rm_entropy_exact *r) {
  const rm_exp_row *e = &r->e;
  const int64_t t = r->row.target;
  if (!r->row.one_class || e->x[t] != e->m) return rm_dd_ball_infinity();
  return 1.44 * (e->second - e->m) + (double)(64 - rm_clz64((uint64_t)e->n)) +
         (double)rm_ball_exponent(__builtin_fabs(r->row.w[t])) + 1.0;
}

/* The exponent of a power of 2 below which numbers round to a zero of their sign. */
RM_FORMULA double rm_underflow_exponent(int format) { return format == RM_F64 ? -1080.0 : -160.0; }

/* Whether the loss of the row that is loaded is decided by its size, or as a number that is just above the difference of two
 * logits (exp_row.h). */
RM_STATIC int rm_negligible_loss(const rm_entropy_exact *r, uint64_t *bits, rm_row_state *state) {
  const int format = r->row.f->format;
  const double w = r->row.w[r->row.one_class ? r->row.target : 0];
  double rest;
  int k;
  if (rm_loss_exponent(r) < rm_underflow_exponent(format)) {
    *bits = rm_signed_zero(w < 0.0 && r->e.only_tail >= 0, format); /* of an only finite logit the loss is exactly 0 */
    return 1;
  }
  if (!r->row.one_class || w != 1.0 || r->e.x[r->row.target] - r->e.m >= 0.0) return 0;
  const double d = rm_two_sum(r->e.m, -r->e.x[r->row.target], &rest);
  if (!rm_is_finite(d) || rest != 0.0 || !rm_exp_row_is_negligible(&r->e, r->row.target, &k)) return 0;
  *bits = rm_round_beside(d, 1, format, RM_NEAREST, &state->flags);
  return 1;
}

/* The same for a total whose losses have one sign and are all that small. */
RM_STATIC int rm_negligible_total(rm_entropy_exact *r, const rm_dd_ball *divisor, uint64_t *bits) {
  const rm_entropy *f = r->row.f;
  double max = -rm_dd_ball_infinity();
  int signs = 0;
  if (!(divisor->err <= 0x1p-20 * __builtin_fabs(divisor->hi)) || __builtin_fabs(divisor->hi) < 0x1p-1000) return 0;
  for (int64_t i = 0; i < f->p.rows; i++) {
    if (!rm_entropy_load(r, i)) continue;
    const double w = r->row.w[r->row.one_class ? r->row.target : 0], size = rm_loss_exponent(r);
    if (size > max) max = size;
    if (r->e.only_tail >= 0) signs |= w > 0.0 ? 1 : w < 0.0 ? 2 : 0;
    if (!(max < 0.0) || signs == 3) return 0;
  }
  max += (double)(64 - rm_clz64((uint64_t)f->p.rows)) + 1.0 - (double)rm_ball_exponent(__builtin_fabs(divisor->hi));
  if (!(max < rm_underflow_exponent(f->format))) return 0;
  *bits = rm_signed_zero(signs != 0 && (signs == 2) != (divisor->hi < 0.0), f->format);
  return 1;
}

/* One row's result, with no reduction. */
RM_STATIC void rm_entropy_finish_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = (const rm_entropy *)operation;
  rm_entropy_loss_row(operation, row, state);
  if (state->deferred) return;
  uint64_t bits = 0;
  if (f->specials[row] != 0.0) {
    bits = !rm_is_nan(f->specials[row]) ? rm_signed_infinity(f->specials[row] < 0.0, f->format) : rm_nan_bits(f->format);
  } else if (!rm_dd_ball_round(&f->losses[row], f->format, RM_NEAREST, &state->flags, &bits)) {
    if (rm_row_defer(state)) return;
    rm_entropy_exact r;
    rm_begin_entropy(&r.row, f, state);
    rm_entropy_load(&r, row);
    if (rm_negligible_loss(&r, &bits, state)) state->tiers.fast++;
    else bits = rm_decide(rm_entropy_row_loss_dd_ball, rm_entropy_row_loss_ball, &r, 0, f->format, state);
  } else {
    state->tiers.fast++;
  }
  rm_write_bits(rm_row_at(&f->out, row), bits, f->format);
}

/* *r for all rows together. What it holds is given back by rm_end_total. */
RM_STATIC void rm_begin_total(rm_entropy_exact *r, const rm_entropy *f, rm_row_state *state) {
  rm_begin_entropy(&r->row, f, state);
  r->cancels = NULL;
  r->related = 0;
#if !RM_DEVICE
  r->cancels = rm_entropy_rows_that_cancel(r, state);
#endif
}
RM_STATIC void rm_end_total(rm_entropy_exact *r) {
#if !RM_DEVICE
  free(r->cancels);
#endif
  r->cancels = NULL;
}

/* The sign of the sum of all losses, as far as it is known in double-double: -1, 0, 1, or NaN where it is undecided. */
RM_STATIC double rm_losses_sign(const rm_entropy *f, const rm_dd_ball *total, rm_row_state *state) {
  int sign = rm_dd_ball_sign(total);
  rm_entropy_exact r;
  rm_ball sum;
  if (sign != RM_SIGN_UNKNOWN) return (double)sign;
  rm_begin_total(&r, f, state);
  for (int limbs = 4; limbs <= RM_BALL_LIMBS && sign == RM_SIGN_UNKNOWN && !(state->failure & RM_ROW_NO_MEMORY); limbs *= 2) {
    rm_entropy_all_losses_ball(&sum, &r, limbs);
    sign = rm_ball_sign(&sum);
  }
  rm_end_total(&r);
  if (sign != RM_SIGN_UNKNOWN) return (double)sign;
  state->failure |= RM_ROW_UNDECIDED;
  return rm_from_bits64(rm_nan_bits(RM_F64));
}

/* The sum of what the rows found. */
RM_STATIC void rm_entropy_finish_total(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = (const rm_entropy *)operation;
  double special = 0.0;
  rm_dd_ball total, divisor;
  (void)row;
#if defined(RM_SHARE_ADD)
  rm_dd_ball count;
  const rm_entropy_share share = {.n = f->p.rows, .losses = f->losses, .specials = f->specials};
  rm_rows_add(&share, &total, &count);
  for (int64_t i = 0; count.hi != 0.0 && i < f->p.rows; i++) special += f->specials[i];
#else
  rm_dd_ball_set(&total, 0.0, 0);
  for (int64_t i = 0; i < f->p.rows; i++) {
    special += f->specials[i];
    rm_dd_ball_add(&total, &total, &f->losses[i]);
  }
#endif
  uint64_t bits = 0;
  const double d = rm_entropy_divide(f, &divisor);
  if (d == 0.0 || !rm_is_finite(d) || special != 0.0) {
    const double above = special != 0.0 ? special : d == 0.0 ? rm_losses_sign(f, &total, state) : 1.0, v = above / d;
    if (rm_is_nan(v) && special == 0.0 && !state->failure) state->flags |= RM_FLAG_INVALID;
    bits = rm_is_nan(v) ? rm_nan_bits(f->format) : !rm_is_finite(v) ? rm_signed_infinity(v < 0.0, f->format) : 0;
  } else {
    rm_dd_ball_div(&total, &total, &divisor);
    if (rm_dd_ball_round(&total, f->format, RM_NEAREST, &state->flags, &bits)) {
      state->tiers.fast++;
    } else {
      rm_entropy_exact r;
      rm_begin_entropy(&r.row, f, state);
      if (rm_negligible_total(&r, &divisor, &bits)) {
        state->tiers.fast++;
      } else {
        rm_begin_total(&r, f, state);
        bits = rm_decide(rm_entropy_total_loss_dd_ball, rm_entropy_total_loss_ball, &r, 0, f->format, state);
        rm_end_total(&r);
      }
    }
  }
  rm_write_bits(f->out.base, bits, f->format);
}

RM_STATIC uint64_t rm_entropy_special_gradient(const rm_entropy_exact *e, int64_t j, double k, uint32_t *flags) {
  const rm_entropy_row *r = &e->row;
  const double q = r->one_class ? rm_sign_or_special(r->w[r->target]) : 0.0;
  double v = rm_from_bits64(rm_nan_bits(RM_F64));
  if (r->one_class && rm_is_finite(e->e.m)) { /* the weight or the gradient is not finite */
    const double p = j == r->target ? (e->e.only_tail < 0 && j == e->e.at ? 0.0 : -1.0) : (rm_is_finite(r->x[j]) ? 1.0 : 0.0);
    v = p * q * k;
  }
  if (!rm_is_nan(v)) return rm_is_finite(v) ? 0 : rm_signed_infinity(v < 0.0, r->f->format);
  if (!rm_is_nan(e->e.m) && !rm_is_nan(k) && !rm_is_nan(q)) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(r->f->format);
}

RM_STATIC void rm_entropy_gradient_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = (const rm_entropy *)operation;
  const int64_t n = f->p.n;
  const int size = rm_size_of(f->format);
  rm_entropy_row r;
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  rm_begin_entropy(&r, f, state);
  char *out = rm_row_out(state, &f->out, row, size);
  double *e = rm_row_buffer(state, 3), *q = rm_row_buffer(state, 4);
  if (!rm_load_entropy(&r, row)) {
    __builtin_memset(out, 0, (size_t)n * (size_t)size);
    rm_row_spread(state, 0, &f->out, row, n, f->format);
    state->tiers.fast += n;
    return;
  }
  const double m = RM_ROW(state, max)(n, r.x);
  r.g = rm_read_element(f->g + row * f->stride_g, f->format);
  const rm_dd_ball divisor = f->losses[0]; /* kept there, and of what kind it is */
  const double kind = f->specials[0];
  const double k = r.g / divisor.hi;
  int known = f->format != RM_F64 && rm_smooth_enough(f) && rm_is_finite(m) && rm_is_finite(k) &&
              divisor.err <= 0x1p-60 * __builtin_fabs(divisor.hi);
  rm_row_store s = {.n = n, .u = e, .fmt = f->format, .out = out, .undecided = state->undecided};
  double others = 0.0, one = 0.0, sum = 0.0;
  int64_t undecided = n;
  if (known && r.one_class) {
    const double xt = r.x[r.target], d = xt - m;
    RM_ROW_SYNC();
    r.x[r.target] = -rm_dd_ball_infinity();
    others = RM_ROW(state, exponentials)(n, r.x, m, e);
    r.x[r.target] = xt;
    one = d >= RM_ROW_EXP_MIN ? rm_exp_sixteenths(d, RM_EXP_INV_STEP) : 0.0;
    sum = others + one;
    s.a = k * r.w[r.target] / sum;
    s.rel = 2.25 * RM_ROW_EXP_ERR + 0x1p-49;
    /* What exponentials() replaces by 0 is below 2^-245: beside a negative factor it rounds to -0, unless it is 0 (x =
     * -infinity). */
    known = __builtin_fabs(s.a) <= 0x1p64;
    s.err = s.a < 0.0 ? -s.a * 0x1p-245 : 0.0;
#if !RM_DEVICE
    if (known && s.a < 0.0) { /* 2^-245 stands for these, and rounds as they do */
      for (int64_t c = 0; c < n; c++) e[c] = e[c] == 0.0 && r.x[c] >= -0x1.fffffffffffffp1023 ? 0x1p-245 : e[c];
      s.err = 0.0;
    }
#endif
    if (known) {
      undecided = RM_ROW(state, store)(RM_ROW_SCALED, &s);
      if (undecided && rm_row_defer(state)) return;
      /* The target's own result, whether its index is in the list or not. */
      double y = -others * s.a;
      int ambiguous = 1;
      uint64_t bits = 0;
      uint32_t flags = 0;
      const double err = RM_BOUND(__builtin_fabs(y) * 0x1.4p-43);
      if (others > 0x1p-150 && y != 0.0 && rm_is_finite(y))
        bits = rm_round_dd(y, 0.0, err, 0, f->format, RM_NEAREST, &flags, &ambiguous);
      int64_t kept = 0;
      for (int64_t j = 0; j < undecided; j++) {
        const int64_t i = s.undecided[j];
        if (i == r.target) continue;
        /* Of a logit -infinity the value is 0; of one that exponentials() replaces by 0 it is less than 2^-181. */
        if (e[i] == 0.0 && s.a < 0.0)
          rm_write_bits(out + i * size, rm_signed_zero(rm_is_finite(r.x[i]), f->format), f->format);
        else s.undecided[kept++] = i;
      }
      undecided = kept;
      if (!ambiguous && !flags) rm_write_bits(out + r.target * size, bits, f->format);
      else s.undecided[undecided++] = r.target;
    }
  } else if (known) {
    double q_sum = 0.0, q_low = 0.0, q_size = 0.0, lost = 0.0; /* lost: of the parts of all q, what cancels; 0 where no p is
                                                                  negative */
    const rm_entropy_shares shares = rm_entropy_shares_of(&r);
    const int in_sums = r.in_sums;
    for (int64_t c = 0; c < n && !in_sums; c++) {
      double magnitude, left;
      q[c] = rm_entropy_class_weight(&r, c, &shares, &magnitude);
      q_sum = rm_two_sum(q_sum, q[c], &left);
      q_low += left, q_size += magnitude, lost += magnitude - __builtin_fabs(q[c]);
    }
    q_sum += q_low;
    for (int64_t c = n; c % RM_ROW_PAD; c++) q[c] = 0.0;
#if !RM_DEVICE
    if (in_sums) {
      double sums[3] = {(double)n, 0.0, 0.0};
      const double w = r.w[r.target];
      if (f->p.weight) state->k->gradients(n, r.w, r.w, 0.0, sums);
      for (int64_t c = 0; c < n && !(state->loaded & RM_ENTROPY_OTHERS); c++) q[c] = shares.each * r.w[c];
      state->loaded |= RM_ENTROPY_OTHERS;
      q[r.target] = (shares.own + shares.each) * w;
      q_sum = q_size = shares.own * w + shares.each * sums[0];
    }
#endif
    sum = RM_ROW(state, exponentials)(n, r.x, m, e);
    s.v = q, s.a = q_sum / sum, s.d = k;
    const double q_rel = in_sums        ? RM_ROW_MOMENT_ERR + 12.0 * 0x1p-53
                         : q_sum != 0.0 ? ((double)n * (double)n * 0x1p-53 + 12.0) * 0x1p-53 * q_size / __builtin_fabs(q_sum)
                         : q_size > 0.0 ? rm_dd_ball_infinity()
                                        : 0.0;
    s.rel = 1.01 * __builtin_fabs(k) * (2.25 * RM_ROW_EXP_ERR + q_rel + 0x1p-49);
    s.slope = __builtin_fabs(k) * 0x1p-49;
    /* What exponentials() replaces by 0 is below 2^-245: beside no q it is a zero of either sign. */
    known = rm_is_finite(s.rel) && rm_is_finite(q_size) && __builtin_fabs(k) * q_size <= 0x1p64;
    s.err = __builtin_fabs(k * s.a) * 0x1p-245 + __builtin_fabs(k) * lost * 0x1p-49;
    if (known) undecided = RM_ROW(state, store)(RM_ROW_DIFFERENCE, &s);
    if (in_sums) q[r.target] = shares.each * r.w[r.target]; /* as those of the others, for the next row */
  }
  int in_wide = 0;
#if !RM_DEVICE
  in_wide = f->format == RM_F64 && rm_is_finite(m);
  if (in_wide) undecided = (r.one_class ? rm_entropy_wide_one : rm_entropy_wide_all)(&r, m, &divisor, out);
#endif
  if (!known && !rm_is_finite(m)) { /* then all of the row is NaN, and beside a NaN raises nothing */
    const double w = r.one_class ? r.w[r.target] : 0.0;
    if (!rm_is_nan(m) && !rm_is_nan(w) && !rm_is_nan(rm_sign_or_special(r.g) / kind)) state->flags |= RM_FLAG_INVALID;
    rm_row_fill(out, n, rm_nan_bits(f->format), f->format);
    undecided = 0;
  }
  if (!known && undecided && rm_row_defer(state)) return;
  const int shared = RM_DEVICE && f->format == RM_F64;
  if (!known && !in_wide && !shared)
    for (int64_t i = 0; i < undecided; i++) s.undecided[i] = i;
  state->tiers.fast += n - undecided;
  if (undecided) {
    if (rm_row_defer(state)) return;
    rm_entropy_exact exact;
    int bad = !rm_is_finite(m) || !rm_is_finite(r.g) || !rm_is_finite(kind) || kind == 0.0;
    const int64_t first = rm_first_class(&r), end = rm_end_class(&r);
    for (int64_t c = first; c < end; c++) {
      const double p = rm_class_probability(&r, c);
      bad |= !rm_is_finite(r.w[c]) || !rm_is_finite(p);
    }
    if (bad) exact.e.m = m, exact.e.only_tail = 0, exact.e.at = -1;
    else rm_exp_row_begin(&exact.e, n, r.x, m);
    exact.row = r;
    exact.limbs_dd_ball = exact.limbs_ball = -1;
    /* Where the class is far above the others the whole gradient rounds to 0, with the sign of its exact value. k is off by
     * less than 2^-50 of itself. */
    const double top = bad || !(divisor.err <= 0x1p-60 * __builtin_fabs(divisor.hi)) || !rm_is_finite(k)
                           ? rm_dd_ball_infinity()
                           : rm_loss_exponent(&exact) + (double)rm_ball_exponent(__builtin_fabs(k)) + 2.0;
    const int little = top < rm_underflow_exponent(f->format);
#if RM_DEVICE
    if (shared && undecided && !bad && !little) {
      rm_entropy_prepare_dd_ball(&exact, 0);
      rm_entropy_share share = rm_entropy_share_of(&r, m, rm_entropy_scale_dd_ball(f));
      share.all = exact.dd_ball.all, share.weights = exact.dd_ball.weights, share.below = exact.dd_ball.below;
      share.out = out;
      undecided = rm_rows_decide(&share);
    } else if (shared) {
      for (int64_t i = 0; i < undecided; i++) s.undecided[i] = i;
    }
#endif
    for (int64_t j = 0; j < undecided; j++) {
      const int64_t i = s.undecided[j];
      if (little) {
        const int zero =
            r.g == 0.0 || r.w[r.target] == 0.0 || (i == r.target ? exact.e.only_tail < 0 : !rm_is_finite(r.x[i]));
        const int negative = ((r.g < 0.0) != (r.w[r.target] < 0.0)) != (divisor.hi < 0.0); /* of the others */
        rm_write_bits(out + i * size, rm_signed_zero(!zero && negative != (i == r.target), f->format), f->format);
        state->tiers.fast++;
        continue;
      }
      const uint64_t bits =
          bad ? rm_entropy_special_gradient(&exact, i, rm_sign_or_special(r.g) / kind, &state->flags)
              : rm_decide(rm_entropy_gradient_dd_ball, rm_entropy_gradient_ball, &exact, i, f->format, state);
      rm_write_bits(out + i * size, bits, f->format);
    }
  }
  rm_row_spread(state, 0, &f->out, row, n, f->format);
}
