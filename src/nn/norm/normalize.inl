/* layer_norm, rms_norm, group_norm and batch_norm: ((x - mean)/sqrt(variance + eps)) w + b with the exact mean and variance
 * of a set. Also device code.
 *
 * The fast phase, with u = 2^-53, M = RM_ROW_MOMENT_ERR. s = sum of x - c0 and q = sum of (x - c0)^2 for a number c0, first
 * 0, are within M sqrt(n q) (Cauchy, Schwarz) and M q. With p = s/n and m2 = q/n: c = c0 + p is within M sqrt(m2) + 3u (|p| +
 * |c|) of the mean; variance = m2 - p^2 is off by M m2 + 2 |p| (M sqrt(m2) + 2u |p|) + 3u m2 < 4 M m2, since p^2 <= m2 (1 +
 * ...). Where variance is less than m2/4 the sums are taken again, around c0 = c: then p is tiny. Without a mean, variance =
 * m2 within 2 M m2. The root of v = variance + eps and its reciprocal are off by half the relative error of v, to first
 * order, and 4u.
 *
 * Nothing underflows in this, nor in the gradients: numbers of formats below binary64 are 0 or at least 2^-149 in magnitude,
 * x - c, with c of 53 bits between them, 2^-202, h = g w 2^-298, squares and products of two of these 2^-596; 1/sqrt(v) is
 * between 2^-200 and 2^100, n below 2^40.
 *
 * All x equal: the deviations are 0, and b is the result. Ties: with k = n, or 1 for given statistics, d = k (x - mean) and R
 * = sqrt(k^2 v) a result is (d w + b R)/R. If R is irrational, so is the result, unless d w = 0. If not, R is dyadic, as k^2
 * v is, and has half its bits: numerator and divisor are exact in balls, with fewer than 7,000 bits, and so is a quotient
 * that is a boundary of rounding. */
#include "normalize.h"

#include "../../../crlibm/fp/exact.h"
#include "../../common/elements.h"
#include "../rows/totals.h"

#define RM_NUM dd_ball
#include "statistics.inc"
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "statistics.inc"
#include "formula.inc"
#undef RM_NUM

RM_HOST_EXTERN double rm_norm_given(const rm_norm_problem *f, const rm_set_view *p, int64_t set0, int64_t set1) {
  return rm_read_element(rm_norm_set_at(p, set0, set1), f->format);
}

RM_HOST_EXTERN void rm_norm_load_blocks(const rm_norm_problem *f, const rm_set_view *p, const char *from, int64_t blocks,
                                        double pad, const rm_row_state *state, double *to) {
  const int64_t n = blocks * f->inner;
#if !RM_DEVICE
  const int size = rm_size_of(f->format);
  if (blocks > 1 && f->inner <= RM_NORM_SHORT && p->inner == size) { /* the results' buffer has no results yet */
    char *together = (char *)rm_row_buffer(state, state->buffers);
    const size_t bytes = (size_t)f->inner * (size_t)size;
    for (int64_t k = 0; k < blocks; k++) {
      __builtin_prefetch(from + k * p->outer + bytes); /* the next set's */
      __builtin_memcpy(together + (size_t)k * bytes, from + k * p->outer, bytes);
    }
    RM_ROW(state, load)(n, together, size, f->format, pad, to);
    return;
  }
#endif
  for (int64_t k = 0; k < blocks; k++)
    RM_ROW(state, load)(f->inner, from + k * p->outer, p->inner, f->format, pad, to + k * f->inner);
  if (!RM_DEVICE && blocks == 1) return; /* the load has done this */
  for (int64_t i = n; i % RM_ROW_PAD; i++) to[i] = pad;
}

RM_STATIC void rm_norm_pad(int64_t n, double pad, double *x) {
  for (int64_t i = n; i % RM_ROW_PAD; i++) x[i] = pad;
}

RM_HOST_EXTERN int rm_norm_approximate(const rm_norm_problem *f, int64_t set0, int64_t set1, double *x,
                                       const rm_row_state *state, rm_norm_statistics *t) {
  const int64_t length = rm_norm_length(f);
  const double n = (double)length;
  double s, q, off;
  if (f->format == RM_F64) return 0;
  if (f->variance.base) {
    t->c = rm_norm_given(f, &f->mean, set0, set1);
    t->c_err = 0.0;
    if (!rm_is_finite(t->c)) return 0;
    t->v = rm_norm_given(f, &f->variance, set0, set1) + f->eps;
    t->spread = 0.0;
    off = 0x1p-53 * t->v;
  } else {
    RM_ROW(state, moments)(length, x, 0.0, &s, &q);
    double p = s / n, m2 = q / n, v = m2 - p * p;
    t->c = 0.0;
    if (f->centered && v < 0.25 * m2) {
      t->c = p;
      rm_norm_pad(length, p, x);
      RM_ROW(state, moments)(length, x, p, &s, &q);
      rm_norm_pad(length, 0.0, x);
      p = s / n, m2 = q / n, v = m2 - p * p;
    }
    if (f->centered) {
      t->c += p;
      t->c_err = RM_ROW_MOMENT_ERR * __builtin_sqrt(m2) + 0x1p-51 * (__builtin_fabs(p) + __builtin_fabs(t->c));
      if (q == 0.0) t->c_err = 0.0; /* all x are c */
    } else {
      v = m2;
      t->c_err = 0.0;
    }
    off = 4.0 * RM_ROW_MOMENT_ERR * m2;
    t->v = v + f->eps;
    t->spread = 1.01 * __builtin_sqrt(q);
  }
  if (!(t->v >= 0x1p-200 && t->v <= 0x1p400 && off <= 0x1p-20 * t->v)) return 0;
  t->a = 1.0 / __builtin_sqrt(t->v);
  t->rel = 0.51 * (off / t->v) + 0x1p-50;
  return 1;
}

RM_STATIC int rm_norm_all_equal(int64_t n, const double *x) {
  for (int64_t i = 1; i < n; i++)
    if (x[i] != x[0]) return 0;
  return 1;
}

#if RM_DEVICE
/* Whether the sum of squares is finite: then so are all elements, and no thread has to look at each of them. */
RM_FN int rm_norm_has_square(int64_t n, const double *x) {
  double sum, square;
  rm_rows_moments(n, x, 0.0, &sum, &square);
  return rm_is_finite(square);
}
#endif

RM_STATIC int rm_norm_any_not_finite(int64_t n, const double *x) {
#if RM_DEVICE
  if (rm_norm_has_square(n, x)) return 0;
#endif
  enum { SOME = 64 };
  const uint64_t infinity = UINT64_C(0x7ff) << 52;
  uint64_t any = 0; /* by the highest bit: no branches, so that compilers make vectors of it */
  for (int64_t from = 0; from < n && !(any >> 63); from += SOME)
    for (int64_t i = from; i < from + SOME && i < n; i++) any |= (rm_bits64(x[i]) & infinity) + (UINT64_C(1) << 52);
  return (int)(any >> 63);
}

RM_HOST_EXTERN void rm_norm_row_begin(const rm_norm_problem *f, int64_t set0, int64_t set1, rm_norm_row *r) {
  r->norm = f;
  r->n = rm_norm_length(f);
  r->set0 = set0, r->set1 = set1;
  r->limbs_dd_ball = r->limbs_ball = -1;
  r->checked = 0;
}

/* Whether variance + eps of finite elements, which may cancel where eps is negative, is positive. Balls of all limbs have it
 * exactly: it has fewer than 9,000 bits. */
RM_STATIC int rm_norm_is_positive(const rm_norm_problem *f, int64_t set0, int64_t set1, const double *x) {
  if (f->eps >= 0.0) return 1;
  rm_norm_row r;
  rm_norm_row_begin(f, set0, set1, &r);
  r.x = x;
  rm_norm_sums_dd_ball(&r, 0);
  int sign = rm_dd_ball_sign(&r.dd_ball.square);
  for (int limbs = RM_FIRST_LIMBS; sign == RM_SIGN_UNKNOWN; limbs = RM_BALL_LIMBS) {
    rm_norm_sums_ball(&r, limbs);
    sign = rm_ball_sign(&r.ball.square);
    if (limbs == RM_BALL_LIMBS) break;
  }
  return sign == 1;
}

RM_HOST_EXTERN int rm_norm_classify(const rm_norm_problem *f, int64_t set0, int64_t set1, int64_t n, const double *x) {
  if (f->variance.base) {
    const double m = rm_norm_given(f, &f->mean, set0, set1), v = rm_norm_given(f, &f->variance, set0, set1);
    if (!rm_is_finite(m) || !rm_is_finite(v)) return RM_SET_INVALID;
    rm_dd_ball t, eps;
    rm_dd_ball_set(&t, v, 0);
    rm_dd_ball_set(&eps, f->eps, 0);
    rm_dd_ball_add(&t, &t, &eps);
    return rm_dd_ball_sign(&t) == 1 ? RM_SET_ORDINARY : RM_SET_INVALID;
  }
  if (rm_norm_any_not_finite(n, x)) return RM_SET_INVALID;
  if ((f->centered && rm_norm_all_equal(n, x)) || (!f->centered && x[0] == 0.0 && rm_norm_all_equal(n, x)))
    return f->eps > 0.0 ? RM_SET_CONSTANT : RM_SET_INVALID;
  return rm_norm_is_positive(f, set0, set1, x) ? RM_SET_ORDINARY : RM_SET_INVALID;
}

RM_STATIC uint64_t rm_norm_exact_bits(double v, int format, uint32_t *flags) {
  int e;
  if (v == 0.0) return 0;
  const uint64_t m = rm_decompose(v, &e);
  return rm_round_exact(v < 0.0, m, e, format, RM_NEAREST, flags);
}

/* d w + b, where it is not all finite; d is the deviation (of the right sign), x may be infinite where the mean is given. */
RM_HOST_EXTERN uint64_t rm_norm_special(double d, double w, double b, int format, uint32_t *flags) {
  const double sign = d > 0.0 ? 1.0 : d < 0.0 ? -1.0 : 0.0; /* a finite d only lends its sign to an infinite w */
  const double y = (rm_is_finite(d) ? sign : d) * w + b;
  if (rm_is_nan(y)) {
    if (!rm_is_nan(d) && !rm_is_nan(w) && !rm_is_nan(b)) *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  return rm_signed_infinity(y < 0.0, format);
}

RM_STATIC double rm_norm_deviation_sign(rm_norm_row *r, int64_t i) {
  rm_dd_ball d;
  rm_norm_prepare_dd_ball(r, 0);
  rm_norm_deviation_dd_ball(&d, r, i, 0);
  int sign = rm_dd_ball_sign(&d);
  if (sign == RM_SIGN_UNKNOWN) {
    rm_ball b;
    rm_norm_prepare_ball(r, RM_BALL_LIMBS);
    rm_norm_deviation_ball(&b, r, i, RM_BALL_LIMBS);
    sign = rm_ball_sign(&b);
  }
  return (double)sign;
}

/* What is known of all elements of a row: rm_norm_row.checked. */
enum { UNCHECKED, FINITE, NOT_FINITE, NAN_THERE };

RM_STATIC int rm_norm_any_nan(int64_t n, const double *x) {
  const uint64_t infinity = UINT64_C(0x7ff) << 52, sign = UINT64_C(1) << 63;
  uint64_t any = 0;
  enum { SOME = 64 }; /* as above */
  for (int64_t from = 0; from < n && !(any >> 63); from += SOME)
    for (int64_t i = from; i < from + SOME && i < n; i++) any |= infinity - (rm_bits64(x[i]) & ~sign);
  return (int)(any >> 63);
}

RM_STATIC uint64_t rm_norm_accurate_result(const rm_norm_problem *f, rm_norm_row *r, int64_t i, int kind,
                                           rm_row_state *state) {
  uint32_t *flags = &state->flags;
  const double x = r->x[i], w = r->w[i], b = r->b[i];
  const int finite = rm_is_finite(w) && rm_is_finite(b) && rm_is_finite(x);
  if (kind == RM_SET_INVALID) {
    if (!RM_DEVICE && !r->checked && (*flags & RM_FLAG_INVALID)) r->checked = NOT_FINITE; /* raised, whatever there is */
    if (!r->checked) r->checked = rm_norm_any_nan(r->n, r->x) ? NAN_THERE : NOT_FINITE;
    if (r->checked == NOT_FINITE) *flags |= RM_FLAG_INVALID; /* beside a NaN nothing is raised */
    return rm_nan_bits(f->format);
  }
  if (kind == RM_SET_CONSTANT) {
    state->tiers.fast++;
    return rm_is_finite(w)
               ? (rm_is_finite(b) ? rm_norm_exact_bits(b, f->format, flags) : rm_norm_special(0.0, 1.0, b, f->format, flags))
               : rm_norm_special(0.0, w, b, f->format, flags);
  }
  if (!finite) return rm_norm_special(rm_is_finite(x) ? rm_norm_deviation_sign(r, i) : x, w, b, f->format, flags);
  return rm_decide(rm_normalized_dd_ball, rm_normalized_ball, r, i, f->format, state);
}

#if RM_DEVICE
RM_TABLE double rm_norm_constants[] = {0.0, 1.0};
#endif

/* One number for each element of a set: the given ones, or a constant, 0 or 1. */
RM_STATIC void rm_norm_load_factor(const rm_norm_problem *f, const rm_set_view *p, int64_t set0, int64_t set1,
                                   double otherwise, const rm_row_state *state, double *to) {
  const int64_t n = rm_norm_length(f);
#if !RM_DEVICE
  if (p->base && p->inner == 0) { /* one for each block, or for the set */
    const int64_t length = p->outer ? f->inner : n;
    for (int64_t at = 0; at < n; at += length) {
      const double value = rm_read_element(rm_norm_set_at(p, set0, set1) + at / f->inner * p->outer, f->format);
      for (int64_t i = 0; i < length; i++) to[at + i] = value;
    }
    rm_norm_pad(n, 0.0, to);
    return;
  }
#endif
  if (p->base) {
    rm_norm_load(f, p, set0, set1, 0.0, state, to);
    return;
  }
#if RM_DEVICE
  const char *constant = (const char *)(rm_norm_constants + (otherwise == 1.0));
  RM_ROW(state, load)(n, constant, 0, RM_F64, otherwise, to);
#else
  for (int64_t i = 0; i < n || i % RM_ROW_PAD; i++) to[i] = otherwise;
#endif
}

RM_FN int rm_norm_is_one_number(const rm_set_view *p) { return !p->base || (p->inner == 0 && p->outer == 0); }
#if !RM_DEVICE
static double rm_norm_of_block(const rm_norm_problem *f, const rm_set_view *p, int64_t set0, int64_t set1, int64_t block,
                               double otherwise) {
  return p->base ? rm_read_element(rm_norm_set_at(p, set0, set1) + block * p->outer, f->format) : otherwise;
}
/* Whether the loops that round can read elements, of an array that they see only once, where they lie: there are many beside
 * each other. Those that the accurate phase takes are read again, and must not be results by then. */
static int rm_norm_is_raw(const rm_norm_problem *f, const rm_set_view *p) {
  return p->base != f->y.base && f->variance.base && f->format != RM_F64 && !f->balls && p->inner == rm_size_of(f->format) &&
         !rm_norm_is_short(f);
}
#endif

RM_STATIC void rm_norm_factors(const rm_norm_problem *f, int64_t set0, int64_t set1, rm_row_state *state, double *w,
                               double *b) {
  const int moves = f->w.base && (f->w.set[0] || f->w.set[1]);
  const int moves_b = f->b.base && (f->b.set[0] || f->b.set[1]);
  if (state->loaded && !moves && !moves_b) return;
  rm_norm_load_factor(f, &f->w, set0, set1, 1.0, state, w);
  if (b) rm_norm_load_factor(f, &f->b, set0, set1, 0.0, state, b);
  state->loaded = 1;
}

/* Results are stored in the output where many are next to each other there, else in the last buffer until all are known. */
RM_FN int rm_norm_in_place(const rm_norm_problem *f) {
  return !RM_DEVICE && f->y.inner == rm_size_of(f->format) && (f->balls || !rm_norm_is_short(f));
}
RM_FN char *rm_norm_result_at(const rm_norm_problem *f, int64_t set0, int64_t set1, int64_t i, const rm_row_state *state) {
  const int64_t size = rm_size_of(f->format);
  if (rm_norm_in_place(f) && f->outer == 1) return rm_norm_set_at(&f->y, set0, set1) + i * size;
  if (rm_norm_in_place(f)) return rm_norm_set_at(&f->y, set0, set1) + i / f->inner * f->y.outer + i % f->inner * size;
  return (char *)rm_row_buffer(state, state->buffers) + i * size;
}
#if !RM_DEVICE
/* Stores one number as all results of a set. */
static void rm_norm_fill(const rm_norm_problem *f, const rm_norm_row *r, uint64_t bits, const rm_row_state *state) {
  const int size = rm_size_of(f->format);
  const int64_t n = rm_norm_in_place(f) ? f->inner : r->n;
  for (int64_t at = 0; at < r->n; at += n) {
    char *const to = rm_norm_result_at(f, r->set0, r->set1, at, state);
    rm_write_bits(to, bits, f->format);
    for (int64_t have = 1; have < n; have *= 2)
      __builtin_memcpy(to + have * size, to, (size_t)((have < n - have ? have : n - have) * size));
  }
}
#endif

RM_STATIC void rm_norm_spread_blocks(const rm_norm_problem *f, int64_t set0, int64_t set1, const rm_row_state *state) {
  if (rm_norm_in_place(f)) return;
  const rm_row_array blocks = {rm_norm_set_at(&f->y, set0, set1), f->y.outer, f->y.inner};
#if !RM_DEVICE
  if (rm_norm_is_short(f) && f->y.inner == rm_size_of(f->format)) {
    const char *results = (const char *)rm_row_buffer(state, state->buffers);
    const size_t bytes = (size_t)f->inner * (size_t)f->y.inner;
    for (int64_t k = 0; k < f->outer; k++) __builtin_memcpy(rm_row_at(&blocks, k), results + (size_t)k * bytes, bytes);
    return;
  }
#endif
  for (int64_t k = 0; k < f->outer; k++) rm_row_spread(state, k * f->inner, &blocks, k, f->inner, f->format);
}

/* Stores the results that the bounds in *s decide, where `known`, from its elements; the indices of others go to
 * state->undecided. *s moves on from block to block. Returns the number of indices. */
RM_STATIC int64_t rm_norm_round_blocks(const rm_norm_problem *f, int64_t set0, int64_t set1, rm_row_operation op,
                                       rm_row_store *s, int known, rm_row_state *state) {
  int64_t count = 0;
  s->balls = f->balls;
  for (int64_t at = 0; f->balls && !known && at < rm_norm_length(f); at += f->inner)
    rm_row_unknown(f->balls, rm_norm_result_at(f, set0, set1, at, state), f->inner, rm_size_of(f->format));
  if (!known) {
    for (int64_t i = 0; i < rm_norm_length(f); i++) state->undecided[i] = i;
    return rm_norm_length(f);
  }
  s->n = rm_norm_in_place(f) ? f->inner : rm_norm_length(f);
  for (int64_t at = 0; at < rm_norm_length(f); at += s->n) {
#if !RM_DEVICE
    const int64_t block = at / f->inner;
    if (op == RM_ROW_AFFINE_RAW) s->raw = rm_norm_set_at(&f->x, set0, set1) + block * f->x.outer;
    if (op == RM_ROW_SCALED_RAW) s->raw = rm_norm_set_at(&f->g, set0, set1) + block * f->g.outer;
    if (op == RM_ROW_AFFINE_RAW || op == RM_ROW_AFFINE_SAME) {
      s->w0 = rm_norm_of_block(f, &f->w, set0, set1, block, 1.0);
      s->b0 = rm_norm_of_block(f, &f->b, set0, set1, block, 0.0);
    }
#endif
    if (at && s->u) s->u += s->n, s->v += s->v ? s->n : 0, s->w += s->w ? s->n : 0, s->b += s->b ? s->n : 0;
    s->out = rm_norm_result_at(f, set0, set1, at, state), s->undecided = state->undecided + count;
    const int64_t undecided = RM_ROW(state, store)(op, s);
    for (int64_t j = 0; at && j < undecided; j++) s->undecided[j] += at;
    count += undecided;
  }
  return count;
}

#if !RM_DEVICE
#include "wide.h"

/* The number of binary32 to which both ends of a value round, which is a normal one or exactly 0; else 0 is returned. */
static int rm_norm_statistic_b32(const rm_dd_ball *value, uint64_t *bits) {
  const double off = value->err + __builtin_fabs(value->lo) + 0x1p-52 * __builtin_fabs(value->hi);
  const float low = (float)(value->hi - off), high = (float)(value->hi + off), size = __builtin_fabsf(low);
  *bits = size == 0.0f ? 0 : rm_bits32(low);
  return (off == 0.0 && value->hi == 0.0) || (low == high && size >= 0x1p-126f && size <= 0x1.fffffep127f);
}

/* Sets the mean in binary32 where it is a number of binary64 that the sums of its elements make without an error: means of
 * few numbers, or of integers, are often midpoints, which no bound decides. Returns 0 elsewhere. */
static int rm_norm_exact_mean(const rm_norm_row *r, uint64_t *bits) {
  enum { FEW = 1 << 10 };
  const double n = (double)r->n;
  double sum = 0.0, off = 0.0;
  if (r->n > FEW) return 0;
  for (int64_t k = 0; k < r->n; k++) {
    double e;
    sum = rm_two_sum(sum, r->x[k], &e);
    off += __builtin_fabs(e);
  }
  const double mean = sum / n;
  const float rounded = (float)mean, size = __builtin_fabsf(rounded);
  /* n has eleven bits at most, and a mean of 42 has an exact product with it */
  const double most = rm_from_bits64(rm_bits64(mean) & ~((UINT64_C(1) << 11) - 1));
  *bits = rm_bits32(rounded);
  if (off == 0.0 && sum == 0.0) return 1;
  return off == 0.0 && mean == most && mean * n == sum && size >= 0x1p-126f && size <= 0x1.fffffep127f;
}

/* Stores a rounded statistic, which is `value`, or, where that does not decide, by the accurate phase. Ties: n times the mean
 * is an integer in units of the smallest number, and the root y has y^2 (n^2 v) = n^2, integers of fewer bits than those of a
 * result above. */
static void rm_norm_store_statistic(const rm_norm_row *r, int kind, const rm_dd_ball *value, rm_dd_ball_value_fn *dd_ball,
                                    rm_ball_value_fn *ball, char *to, rm_row_state *state) {
  const int format = r->norm->format;
  uint64_t bits;
  const int is_mean = dd_ball == rm_norm_mean_of_set_dd_ball;
  int known = 0;
  if (kind == RM_SET_INVALID) bits = rm_nan_bits(format), known = 1;
  else if (format == RM_F32) known = rm_norm_statistic_b32(value, &bits) || (is_mean && rm_norm_exact_mean(r, &bits));
  if (!known && !rm_dd_ball_round(value, format, RM_NEAREST, &state->flags, &bits))
    bits = rm_decide(dd_ball, ball, (void *)(uintptr_t)r, 0, format, state);
  rm_write_bits(to, bits, format);
}

/* Stores the mean and 1/sqrt(variance + eps) of a set where the caller asks for them; t or wide, or NULL, is what
 * the fast phase knows of them. Such a set has finite numbers alone, and its variance + eps is positive. */
static void rm_norm_store_statistics(const rm_norm_problem *f, rm_norm_row *r, const rm_norm_statistics *t,
                                     const rm_norm_wide *wide, rm_row_state *state) {
  const int64_t at = (r->set0 * f->sets[1] + r->set1) * rm_size_of(f->format);
  const int kind = t || wide ? RM_SET_ORDINARY : rm_norm_classify(f, r->set0, r->set1, r->n, r->x);
  const double unknown = rm_dd_ball_infinity();
  const rm_row_balls *const b = f->balls;
  const int64_t set = r->set0 * f->sets[1] + r->set1;
  if (b && b->mean) b->mean[set] = t ? t->c : 0.0, b->mean_radius[set] = t ? t->c_err : unknown;
  if (b && b->root) b->root[set] = t ? t->a : 0.0, b->root_radius[set] = t ? t->a * t->rel : unknown;
  if (b && t) return;
  rm_dd_ball mean, root;
  rm_dd_ball_finish(&mean, t ? t->c : 0.0, 0.0, !t || t->c_err != 0.0, t ? t->c_err : unknown); /* no error: all are c */
  rm_dd_ball_finish(&root, t ? t->a : 0.0, 0.0, 1, t ? t->a * t->rel : unknown);
  if (f->found_mean)
    rm_norm_store_statistic(r, kind, wide ? &wide->c : &mean, rm_norm_mean_of_set_dd_ball, rm_norm_mean_of_set_ball,
                            f->found_mean + at, state);
  if (f->found_root)
    rm_norm_store_statistic(r, kind, wide ? &wide->a : &root, rm_norm_root_of_set_dd_ball, rm_norm_root_of_set_ball,
                            f->found_root + at, state);
}
#endif

/* Whether sets have the loops of binary64 numbers: those of binary64 on the host have wide.h. */
RM_FN int rm_norm_is_narrow(const rm_norm_problem *f) { return RM_DEVICE || f->format != RM_F64; }

#if !RM_DEVICE
/* The results of a set that are undecided where balls are rounded. Returns how many are so still: none, since others are
 * left. */
static int64_t rm_norm_at_random(rm_norm_row *r, rm_dd_ball_value_fn *value, int64_t undecided, rm_row_state *state) {
  const rm_norm_problem *f = r->norm;
  for (int64_t j = 0; j < undecided; j++) {
    const int64_t i = state->undecided[j];
    rm_decide_at_random(value, r, i, f->balls, rm_norm_result_at(f, r->set0, r->set1, i, state), f->format, state);
  }
  return 0;
}
#else
/* What the threads of a block share of the results of a set of binary64, once all statistics that they need are known. g:
 * these are gradients. */
RM_STATIC rm_norm_share rm_norm_share_of(const rm_norm_row *r, int kind, const double *g, const rm_row_state *state) {
  rm_norm_share s = {.kind = kind, .given = r->norm->variance.base != NULL, .n = r->n, .scale = rm_norm_scale_dd_ball(r)};
  s.x = r->x, s.w = r->w, s.b = g ? NULL : r->b, s.g = g;
  s.out = rm_norm_result_at(r->norm, r->set0, r->set1, 0, state), s.undecided = state->undecided;
  if (kind != RM_SET_ORDINARY) return s;
  s.sum = r->dd_ball.sum, s.square = r->dd_ball.square, s.root = r->dd_ball.root;
  if (g) s.first = r->dd_ball.first, s.second = r->dd_ball.second;
  return s;
}
#endif

RM_HOST_EXTERN void rm_norm_forward_set(const void *operation, int64_t set, rm_row_state *state) {
  const rm_norm_problem *f = (const rm_norm_problem *)operation;
  const int64_t set0 = set / f->sets[1], set1 = set % f->sets[1], n = rm_norm_length(f);
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  double *x = rm_row_buffer(state, 0), *w = rm_row_buffer(state, 1), *b = rm_row_buffer(state, 2);
  int same = !RM_DEVICE && f->format != RM_F64 && rm_norm_is_one_number(&f->w) && rm_norm_is_one_number(&f->b), raw = 0;
#if !RM_DEVICE
  if (rm_norm_in_place(f) && f->format != RM_F64) same = (!f->w.base || f->w.inner == 0) && (!f->b.base || f->b.inner == 0);
  raw = same && rm_norm_in_place(f) && rm_norm_is_raw(f, &f->x);
#endif
  if (!raw) rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
  if (!same) rm_norm_factors(f, set0, set1, state, w, b);
  rm_norm_statistics t;
  const int known = rm_norm_is_narrow(f) && rm_norm_approximate(f, set0, set1, x, state, &t);
  if (!known && rm_row_defer(state)) return;
  rm_row_store s = {.u = raw ? NULL : x, .w = w, .b = b, .fmt = f->format};
  if (known) s.c = t.c, s.a = t.a, s.rel = t.rel, s.err = 1.01 * t.c_err * t.a;
  int64_t undecided = n;
  const int shared = RM_DEVICE && f->format == RM_F64;
#if !RM_DEVICE
  rm_norm_wide wide;
  rm_wide_row row = {.x = x, .w = w, .b = b};
  const int in_wide = !rm_norm_is_narrow(f) && rm_norm_wide_statistics(f, set0, set1, x, &wide);
  if (in_wide) undecided = rm_norm_wide_forward(f, set0, set1, &wide, &row, state);
  else
#endif
      if (!shared)
    undecided = rm_norm_round_blocks(f, set0, set1,
                                     raw    ? RM_ROW_AFFINE_RAW
                                     : same ? RM_ROW_AFFINE_SAME
                                            : RM_ROW_AFFINE,
                                     &s, known, state);
  state->tiers.fast += n - undecided;
  if (undecided || f->found_mean || f->found_root) {
    if (rm_row_defer(state)) return;
    rm_norm_row r; /* on a device its numbers take room that only the accurate phase has */
    rm_norm_row_begin(f, set0, set1, &r);
    state->limbs = RM_FIRST_LIMBS;
    if (same && undecided) rm_norm_factors(f, set0, set1, state, w, b);
    if (raw) rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
    r.x = x, r.w = w, r.b = b;
#if !RM_DEVICE
    if (f->found_mean || f->found_root) rm_norm_store_statistics(f, &r, known ? &t : NULL, in_wide ? &wide : NULL, state);
    if (f->balls && known) undecided = rm_norm_at_random(&r, rm_normalized_dd_ball, undecided, state);
#endif
    const int kind = undecided ? rm_norm_classify(f, set0, set1, n, x) : RM_SET_ORDINARY;
#if RM_DEVICE
    if (shared) {
      if (kind == RM_SET_ORDINARY) rm_norm_prepare_dd_ball(&r, 0);
      const rm_norm_share share = rm_norm_share_of(&r, kind, NULL, state);
      undecided = rm_rows_decide(&share);
    }
#else
    if (kind == RM_SET_INVALID && undecided == n) { /* all are NaN */
      rm_norm_fill(f, &r, rm_norm_accurate_result(f, &r, 0, kind, state), state);
      undecided = 0;
    }
#endif
    for (int64_t j = 0; j < undecided; j++) {
      const int64_t i = state->undecided[j];
      rm_write_bits(rm_norm_result_at(f, set0, set1, i, state), rm_norm_accurate_result(f, &r, i, kind, state), f->format);
    }
  }
  rm_norm_spread_blocks(f, set0, set1, state);
}

/* ------------------------------------------------------------------------------------------------ gradient with respect to x
 *
 * (h_i - first/n - (x_i - mean) second/(n v))/sqrt(v), h = g w, first = sum of h (0 without a mean), second = sum of h (x -
 * mean). h is exact. With H = sum of h^2 and D >= sqrt(sum of (x - c)^2): first is known within M sqrt(n H), and second,
 * around c for the mean, within M sqrt(H) D + c_err |first|. The value is a ((h - c1) - (x - c) b0), c1 = first/n, b0 =
 * second/(n v):
 *   h - c1      off by M sqrt(H/n) + 2u |c1|, and its rounding
 *   b0          by e = (M sqrt(H) D + c_err |first|)/(n v) + |b0| (2 rel + 2^-50); rel is that of a, so v is known within 2
 *               rel
 *   x - c       by c_err, times |b0|
 *   the value   relatively by rel and 2^-50
 * With one weight, h is g, and the weight is part of a, which rounds once more. Given statistics leave h a: g (w a), or (g w)
 * a, rounds at most twice, and the test takes 2^-52: rel + 2^-50.
 * Ties: as above, the numerator being rational (rm_norm_gradient_sums, of fewer than 9,000 bits). second/(n v) is 0 or at
 * least 2^-500 - 40 - 400. */
RM_STATIC int rm_norm_gradient_kind(const rm_norm_row *r, int kind, uint32_t raised) {
  int found = kind == RM_SET_INVALID ? NOT_FINITE : FINITE;
  if (!RM_DEVICE && found == NOT_FINITE && (raised & RM_FLAG_INVALID)) return found; /* a NaN makes no difference */
#if RM_DEVICE
  if (rm_norm_has_square(r->n, r->g) && rm_norm_has_square(r->n, r->w) && rm_norm_has_square(r->n, r->x)) return found;
#endif
  for (int64_t k = 0; k < r->n; k++) {
    const double h = r->g[k] * r->w[k];
    if (rm_is_nan(r->g[k]) || rm_is_nan(r->w[k]) || rm_is_nan(r->x[k])) return NAN_THERE;
    if (!rm_is_finite(r->g[k]) || !rm_is_finite(r->w[k]) || rm_is_nan(h)) found = NOT_FINITE;
  }
  return found;
}

/* Whether all h = g w are equal and finite: then h - first/n is 0, and so is second, h times the sum of the deviations: the
 * gradient is 0. */
RM_STATIC int rm_norm_is_flat(const rm_norm_row *r) {
  for (int64_t k = 0; k < r->n; k++)
    if (r->g[k] != r->g[0] || r->w[k] != r->w[0] || !rm_is_finite(r->g[k]) || !rm_is_finite(r->w[k])) return 0;
  return 1;
}

RM_STATIC uint64_t rm_norm_accurate_gradient(const rm_norm_problem *f, rm_norm_row *r, int64_t i, int kind,
                                             rm_row_state *state) {
  if (!r->checked) r->checked = rm_norm_gradient_kind(r, kind, state->flags);
  if (r->checked != FINITE && f->variance.base && kind != RM_SET_INVALID) { /* elements do not affect each other */
    const double h = r->g[i] * r->w[i];
    if (!rm_is_finite(r->g[i]) || !rm_is_finite(r->w[i]))
      return rm_norm_special(h, 1.0, !rm_is_nan(h) ? 0.0 : h, f->format, &state->flags);
  } else if (r->checked != FINITE) { /* the sums of the gradient contain every element */
    if (r->checked == NOT_FINITE) state->flags |= RM_FLAG_INVALID;
    return rm_nan_bits(f->format);
  }
  return rm_decide(rm_normalized_backward_dd_ball, rm_normalized_backward_ball, r, i, f->format, state);
}

#if RM_DEVICE
/* Decides the gradients of a set of binary64 by all threads of a block; returns how many are left in state->undecided. */
RM_STATIC int64_t rm_norm_shared_gradient(rm_norm_row *r, int kind, int flat, rm_row_state *state) {
  if (!flat) r->checked = rm_norm_gradient_kind(r, kind, state->flags);
  if (!flat && r->checked != FINITE && r->norm->variance.base && kind != RM_SET_INVALID) { /* each has a value of its own */
    for (int64_t i = 0; i < r->n; i++) state->undecided[i] = i;
    return r->n;
  }
  const int shared = flat ? (int)RM_SET_FLAT : r->checked != FINITE ? (int)RM_SET_INVALID : (int)RM_SET_ORDINARY;
  if (shared == RM_SET_ORDINARY) rm_norm_gradient_sums_dd_ball(r, 0);
  const rm_norm_share share = rm_norm_share_of(r, shared, r->g, state);
  return rm_rows_decide(&share);
}
#endif

RM_HOST_EXTERN void rm_norm_backward_set(const void *operation, int64_t set, rm_row_state *state) {
  const rm_norm_problem *f = (const rm_norm_problem *)operation;
  const int64_t set0 = set / f->sets[1], set1 = set % f->sets[1], n = rm_norm_length(f);
  if (f->format == RM_F64 && rm_row_defer(state)) return;
  double *x = rm_row_buffer(state, 0), *w = rm_row_buffer(state, 1), *g = rm_row_buffer(state, 2),
         *h = rm_row_buffer(state, 3);
  int given = 0, same = 0, raw = 0; /* by given statistics, whatever x is; by one weight */
  int later = 0; /* x is loaded where the accurate phase needs it; short blocks go through the results' buffer */
#if !RM_DEVICE
  given = f->variance.base && rm_norm_is_narrow(f);
  same = rm_norm_is_narrow(f) && rm_norm_is_one_number(&f->w) && f->w.base != f->y.base;
  raw = given && same && rm_norm_in_place(f) && rm_norm_is_raw(f, &f->g);
  later = given && !rm_norm_is_short(f) && f->x.base != f->y.base;
#endif
  if (!later) rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
  if (!raw) rm_norm_load(f, &f->g, set0, set1, 0.0, state, g);
  if (!same) rm_norm_factors(f, set0, set1, state, w, NULL);
  rm_norm_statistics t;
  int known = rm_norm_is_narrow(f) && rm_norm_approximate(f, set0, set1, x, state, &t);
#if RM_DEVICE
  const rm_row_operation op = RM_ROW_CENTERED;
#endif
  rm_row_store s = {.u = raw ? NULL : same ? g : h, .v = given ? NULL : x, .fmt = f->format};
  double one = 1.0;
#if !RM_DEVICE
  if (same) one = rm_norm_of_block(f, &f->w, set0, set1, 0, 1.0);
#endif
  if (known && given) {
    double sums[3];
    if (!same) RM_ROW(state, weighted)(n, g, w, g, 0.0, h, sums);
    s.a = t.a * one, s.rel = 1.01 * (t.rel + 0x1p-50);
  } else if (known) {
    double sums[3];
    const double count = (double)n;
#if !RM_DEVICE
    if (same) state->k->gradients(n, g, x, t.c, sums);
    else
#endif
      RM_ROW(state, weighted)(n, g, w, x, t.c, h, sums);
    if (f->variance.base) sums[0] = sums[1] = sums[2] = 0.0;
    const double root = __builtin_sqrt(sums[1]), first = f->centered ? sums[0] : 0.0;
    const double a = t.a * one, size = __builtin_fabs(a);
    s.a = a, s.c = first / count, s.d = t.c, s.b0 = sums[2] / (count * t.v);
    const double c1_err =
        f->centered ? RM_ROW_MOMENT_ERR * root / __builtin_sqrt(count) + 0x1p-51 * __builtin_fabs(s.c) : 0.0;
    const double b0_err = 1.01 *
                              (RM_ROW_MOMENT_ERR * root * t.spread +
                               t.c_err * (__builtin_fabs(first) + RM_ROW_MOMENT_ERR * root * __builtin_sqrt(count))) /
                              (count * t.v) +
                          __builtin_fabs(s.b0) * (2.1 * t.rel + 0x1p-50);
    const double own = t.rel + 0x1p-50 + (same ? 0x1p-53 : 0.0);
    s.rel = 1.01 * size * own;
    s.slope = 1.01 * size * (b0_err + __builtin_fabs(s.b0) * own);
    s.err = 1.01 * size * (c1_err + t.c_err * (__builtin_fabs(s.b0) + b0_err));
    known = rm_is_finite(s.err) && rm_is_finite(s.slope);
  }
  if (!known && rm_row_defer(state)) return;
  int64_t undecided = n;
  const int shared = RM_DEVICE && f->format == RM_F64;
#if !RM_DEVICE
  rm_norm_wide wide;
  rm_wide_row row = {.x = x, .w = w, .g = g};
  const rm_row_operation op = raw ? RM_ROW_SCALED_RAW : given ? RM_ROW_SCALED : RM_ROW_CENTERED;
  if (rm_norm_is_narrow(f) || !rm_norm_wide_statistics(f, set0, set1, x, &wide) ||
      !rm_norm_wide_backward(f, set0, set1, &wide, &row, state, &undecided))
#endif
    if (!shared) undecided = rm_norm_round_blocks(f, set0, set1, op, &s, known, state);
  state->tiers.fast += n - undecided;
  if (undecided) {
    if (rm_row_defer(state)) return;
    rm_norm_row r;
    rm_norm_row_begin(f, set0, set1, &r);
    state->limbs = RM_FIRST_LIMBS;
    r.x = x, r.w = w, r.g = g, r.h = h;
    if (later) rm_norm_load(f, &f->x, set0, set1, 0.0, state, x);
    if (raw) rm_norm_load(f, &f->g, set0, set1, 0.0, state, g);
    if (same) rm_norm_factors(f, set0, set1, state, w, NULL);
    const int kind = rm_norm_classify(f, set0, set1, n, x);
    if (f->format != RM_F64 && kind != RM_SET_INVALID)
      for (int64_t i = 0; i < n; i++) h[i] = g[i] * w[i];
    const int flat = f->centered && !f->variance.base && kind != RM_SET_INVALID && rm_norm_is_flat(&r);
    if (flat) state->tiers.fast += undecided;
#if RM_DEVICE
    if (shared) undecided = rm_norm_shared_gradient(&r, kind, flat, state);
#else
    if (f->balls && known && !flat) undecided = rm_norm_at_random(&r, rm_normalized_backward_dd_ball, undecided, state);
    if (undecided == n && !flat && !r.checked) r.checked = rm_norm_gradient_kind(&r, kind, state->flags);
    if (undecided == n && !flat && r.checked != FINITE && (kind == RM_SET_INVALID || !f->variance.base)) { /* all are NaN */
      rm_norm_fill(f, &r, rm_norm_accurate_gradient(f, &r, 0, kind, state), state);
      undecided = 0;
    }
#endif
    for (int64_t j = 0; j < undecided; j++) {
      const int64_t i = state->undecided[j];
      rm_write_bits(rm_norm_result_at(f, set0, set1, i, state), flat ? 0 : rm_norm_accurate_gradient(f, &r, i, kind, state),
                    f->format);
    }
  }
  rm_norm_spread_blocks(f, set0, set1, state);
}
