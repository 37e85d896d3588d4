/* Solutions of systems, by refinement with a verified bound, then by exact integers (exact.c).
 *
 * A is scaled by powers of two. R is an approximate inverse; rows of G = I - R A are known to have sums of magnitudes at most
 * g_i, beta = max g_i < 1, so A and R are regular. Let x be the solution, y the sum of the terms found so far, r = b - A y.
 * From
 *   x - y = R r + G (x - y)   follow   |x - y| <= |R r|/(1 - beta)   (in the maximum norm)   and   |x - y - R r|_i <= g_i |x
 *                                                                                            - y|.
 * So the next term d = R r is right within what depends on |r|, and every term gains digits. Residuals are compensated sums
 * (kernels.h), and those of the last terms exact sums rounded once (src/blas); products with R are plain sums. */
#include "system.h"

#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../../include/repmath/reductions.h"
#include "../reduce/superaccumulator.h"
#include "approximate.h"
#include "exact.h"
#include "kernels.h"
#include "scaling.h"

enum {
  TERMS = 5,             /* of the solution */
  DIRECT = 16,           /* columns for which a triangle is not worth an inverse */
  LEAST_TERM = -660      /* A y has no bit below 2^-1074 where the terms of y are not below this exponent */
};
#define RM_LINALG_TINY 0x1p-1000   /* covers all underflow */

typedef struct {
  const rm_linear_system *s;
  double *full;          /* A as it is: n x n */
  double *b;             /* n x k; 0 in columns that are not finite */
  uint64_t *bits;        /* results */
  unsigned char *wanted; /* elements that are not decided */
  rm_scaled_matrix a;
  double *work, *r, *g, *size; /* R; bounds of the row sums of |G| and |R| */
  double beta, reach;    /* the largest of these */
  double norm;           /* the largest row sum of |A| */
  double *terms;         /* TERMS + 1 vectors: of a column, and bounds of the next */
  int direct;            /* by substitution: R and its bounds are not used */
  int64_t *place;        /* rows in the order of pivots */
  uint64_t *pattern;     /* of each column: places of rows whose entry is not 0 */
} solver;

/* A sum of n magnitudes, made larger than what it stands for: n additions, and a rounding of each term. */
static double above(double sum, int64_t n) { return sum * (1.0 + (double)(n + 8) * 0x1p-52) + RM_LINALG_TINY; }

/* A product whose first matrix has the shape of A: what is 0 of it is left out. */
static void multiply(const solver *v, rm_linalg_product p, void (*kernel)(const rm_linalg_product *)) {
  enum { BLOCK = 64 };
  const int lower = v->s->shape == RM_LINALG_LOWER;
  if (v->s->shape == RM_LINALG_FULL) {
    kernel(&p);
    return;
  }
  for (int64_t i = 0; i < p.m; i += BLOCK) {
    rm_linalg_product part = p;
    const int64_t from = lower ? 0 : i;
    part.m = p.m - i < BLOCK ? p.m - i : BLOCK, part.k = lower ? i + part.m : p.k - i;
    part.a += i * p.ld_a + from, part.b += from * p.ld_b, part.c += i * p.ld_c;
    if (p.low) part.low += i * p.ld_c;
    if (p.lowest) part.lowest += i * p.ld_c;
    kernel(&part);
  }
}

/* An approximate inverse. Whether there is one. */
static int invert(solver *v) {
  const int64_t n = v->s->n;
  int odd;
  if (v->s->shape == RM_LINALG_LOWER) rm_approximate_lower_inverse(n, v->a.a, 0, v->r);
  else if (v->s->shape == RM_LINALG_UPPER) rm_approximate_upper_inverse(n, v->a.a, v->r);
  if (v->s->shape != RM_LINALG_FULL) return 1;
  memcpy(v->work, v->a.a, (size_t)(n * n) * sizeof *v->work);
  if (!rm_approximate_lu(n, v->work, v->place, &odd)) return 0;
  memset(v->r, 0, (size_t)(n * n) * sizeof *v->r);
  for (int64_t i = 0; i < n; i++) v->r[i * n + v->place[i]] = 1.0;
  rm_approximate_lower(n, n, v->work, n, 1, v->r, n);
  rm_approximate_upper(n, n, v->work, n, v->r, n);
  return 1;
}

/* R and its bounds. Whether beta is small enough to go on. The elements of G are plain sums of 1 or 0 and row i of |R| times
 * |A|, at most n columns of them: their errors add up to plain_unit times 1 + size_i norm. */
static int verify(solver *v) {
  const int64_t n = v->s->n;
  rm_scale_matrix(&v->a, v->full);
  for (int64_t i = 0; i < n; i++) v->place[i] = i;
  if (!v->a.exact) return 0;
  if (v->direct) return 1;
  if (!invert(v)) return 0;
  memset(v->work, 0, (size_t)(n * n) * sizeof *v->work);
  for (int64_t i = 0; i < n; i++) v->work[i * n + i] = 1.0;
  const rm_linalg_product product = {n, n, n, v->r, n, v->a.a, n, 1, v->work, NULL, n, NULL};
  multiply(v, product, rm_linalg_kernels()->plain);
  v->beta = v->reach = v->norm = 0.0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < n; j++) sum += __builtin_fabs(v->a.a[i * n + j]);
    sum = above(sum, n);
    if (sum > v->norm) v->norm = sum;
  }
  int finite = 1;
  for (int64_t i = 0; i < n; i++) {
    double g = 0.0, size = 0.0;
    for (int64_t j = 0; j < n; j++) g += __builtin_fabs(v->work[i * n + j]), size += __builtin_fabs(v->r[i * n + j]);
    v->size[i] = above(size, n);
    v->g[i] = above(g + RM_BOUND(rm_linalg_plain_unit(n)) * (1.0 + v->size[i] * v->norm), n);
    finite &= rm_is_finite(v->g[i]) && rm_is_finite(v->size[i]);
    if (v->g[i] > v->beta) v->beta = v->g[i];
    if (v->size[i] > v->reach) v->reach = v->size[i];
  }
  return finite && v->beta <= 0.25;
}

/* Columns in refinement: column c of the arrays below is column of[c] of B. */
typedef struct {
  int64_t count, *of;
  int *shift, *last_bit; /* b 2^(row + shift), so that the largest is about 1; it is a multiple of 2^last_bit */
  double *b, *x, *r, *err; /* n x count each; x: TERMS of them, one below the other */
  double *low, *lowest; /* n x count each: second and third parts of residuals */
  int terms;
} columns;

static int pick_columns(const solver *v, columns *c) {
  const int64_t n = v->s->n, k = v->s->k;
  c->count = 0;
  for (int64_t j = 0; j < k; j++) {
    int top = -100000, least = 100000, lowest = 100000;
    for (int64_t i = 0; i < n; i++) {
      const double x = v->b[i * k + j];
      if (x == 0.0) continue;
      const int e = rm_exponent_of(x) + v->a.row[i];
      int bit;
      rm_odd_part(x, &bit);
      bit += v->a.row[i];
      top = e > top ? e : top, least = e < least ? e : least, lowest = bit < lowest ? bit : lowest;
    }
    if (top < least) continue; /* zeros, which are decided */
    if (least - top < RM_LINALG_LEAST) continue;
    c->shift[c->count] = -top, c->last_bit[c->count] = lowest - top, c->of[c->count++] = j;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < c->count; j++) {
      const double x = v->b[i * k + c->of[j]];
      c->b[i * c->count + j] = x == 0.0 ? 0.0 : rm_scaled(x, v->a.row[i] + c->shift[j]);
    }
  return c->count > 0;
}

/* RN of the sum of the terms, within err, times 2^shift: the sum is in [acc - err, acc + err], both exact. */
static int round_exactly(const double *x, int64_t stride, int terms, double err, int shift, int format, uint64_t *bits,
                         uint32_t *flags) {
  uint64_t ends[2];
  uint32_t end_flags[2] = {0, 0};
  for (int side = 0; side < 2; side++) {
    rm_superaccumulator acc;
    rm_superacc_clear(&acc);
    for (int t = 0; t < terms; t++) rm_superacc_add(&acc, x[t * stride]);
    rm_superacc_add(&acc, side ? err : -err);
    const rm_superacc_top top = rm_superacc_get_top(&acc);
    ends[side] = top.m == 0 ? 0
                            : rm_round_exact(top.negative, top.m | (rm_u128)top.inexact, (int64_t)top.e + shift, format,
                                             RM_NEAREST, end_flags + side);
  }
  *bits = ends[0];
  if (ends[0] != ends[1] || end_flags[0] != end_flags[1]) return 0;
  *flags |= end_flags[0];
  return 1;
}

/* Whether the sum of terms, within err, times 2^shift rounds one way. hi and lo after term t be h_t and l_t. l_1 is exact,
 * and l_t for t > 1 is rounded by u |l_t|, u = 2^-53, where |l_t| <= |l_(t + 1)| (1 + u) + u |h_(t + 1)|, the latter for
 * what term t + 1 leaves over. With TERMS = 5 all of this is at most 3.1 u |l_4| + 2.1 u^2 |h_4| + 1.1 u^2 |h_3|. Of it
 * `wide` has 4 u |l_4|, and |h_4| <= size + |l_4|; |h_3| is at most 1.1 (|h_4| + |x_4|). The test has 8 u^2 of size, and
 * 2^-40 of err, which is above 4 u |x_4| (refine: R r is not above size_i |r|, of which `around` has plain), or 0 together
 * with x_4. The ends of binary64 are rounded as in decide() of recurrence.c. */
static int settle(const double *x, int64_t stride, int terms, double err, int shift, int format, uint64_t *bits,
                  uint32_t *flags) {
  double hi = x[0], lo = 0.0, e;
  for (int t = 1; t < terms; t++) {
    hi = rm_two_sum(hi, x[t * stride], &e);
    lo += e;
  }
  double wide = err + 0x1p-51 * __builtin_fabs(lo);
  hi = rm_two_sum(hi, lo, &lo);
  const double size = __builtin_fabs(hi);
  if (err > 0.0 && !(err < 0x1p-12 * size)) return 0;
  const int exponent = hi == 0.0 ? -100000 : rm_exponent_of(hi) + shift;
  if (exponent > -1000 && exponent < 1000 && size > 0x1p-900) {
    if (format == RM_F32) {
      wide = wide * (1.0 + 0x1p-40) + 0x1p-51 * size;
      const float low = (float)rm_scaled(hi + (lo - wide), shift), high = (float)rm_scaled(hi + (lo + wide), shift);
      *bits = rm_bits32(low);
      if (rm_bits32(low) == rm_bits32(high) && low != 0.0f && rm_is_finite_f32(low)) return 1;
    } else {
      wide = wide * (1.0 + 0x1p-40) + 0x1p-103 * size;
      const double low = hi + (lo - wide), high = hi + (lo + wide);
      *bits = rm_bits64(rm_scaled(low, shift));
      if (rm_bits64(low) == rm_bits64(high)) return 1;
    }
    if (err > 0x1p-98 * size) return 0; /* more precision than hi + lo has does not help */
  }
  return round_exactly(x, stride, terms, err, shift, format, bits, flags);
}

/* b - A y in r, exact sums rounded once: y is n * terms x k, a term's numbers below those of the one before. */
static rm_status find_exact_residuals(const solver *v, const columns *c, const double *y, int terms) {
  const int64_t n = v->s->n, k = c->count, width = n * terms;
  double *repeated = rm_linalg_memory(n * width, sizeof *repeated); /* A beside itself, once for each term */
  if (!repeated) return RM_ERR_MEMORY;
  memcpy(c->r, c->b, (size_t)(n * k) * sizeof *c->r);
  for (int64_t i = 0; i < n; i++)
    for (int t = 0; t < terms; t++) memcpy(repeated + i * width + t * n, v->a.a + i * n, (size_t)n * sizeof *repeated);
  const rm_status status =
      rm_gemm(RM_FORMAT_F64, RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, n, k, width, -1.0, repeated, width, y, k, 1.0, c->r, k);
  free(repeated);
  return status;
}

/* The residuals, each within *unit of the sum of magnitudes of its terms, besides 2^-53 of itself. (The third part is rounded
 * by 2^-53 of at most 2 h^2 2^-106 of the magnitudes, which the triple's 7 h^3 in place of 6.6 h^3 covers.) */
static rm_status find_residuals(const solver *v, columns *c, double *unit) {
  const int64_t n = v->s->n, k = c->count;
  const double *a = v->a.a;
  *unit = 0.0;
  if (c->terms < TERMS - 1) { /* in two parts at first, then in three */
    memcpy(c->r, c->b, (size_t)(n * k) * sizeof *c->r);
    const int three = c->terms > 1;
    memset(c->low, 0, (size_t)(n * k) * sizeof *c->low);
    memset(c->lowest, 0, (size_t)(n * k) * sizeof *c->lowest);
    for (int t = 0; t < c->terms; t++) {
      const rm_linalg_product product = {n, k, n, a, n, c->x + t * n * k, k, 1, c->r, c->low, k, c->lowest};
      multiply(v, product, three ? rm_linalg_kernels()->triple : rm_linalg_kernels()->pair);
    }
    for (int64_t i = 0; i < n * k; i++) {
      double low;
      const double high = rm_two_sum(c->r[i], c->low[i], &low);
      c->r[i] = high + (low + c->lowest[i]);
    }
    *unit = RM_BOUND(three ? rm_linalg_triple_unit(n, c->terms) : rm_linalg_pair_unit(n, c->terms));
    return RM_OK;
  }
  return find_exact_residuals(v, c, c->x, c->terms);
}

/* What is seen of a column: the largest residual, first of the terms' sizes, and where their bits end. */
typedef struct {
  double residual, last, terms;
  int least, least_bit, finite;
} column_facts;

static column_facts look(const solver *v, const columns *c, int64_t j) {
  const int64_t n = v->s->n, k = c->count;
  const double *next = c->x + c->terms * n * k;
  column_facts f = {0.0, 0.0, 0.0, 0, 0, 1};
  for (int64_t i = 0; i < n; i++) {
    const double size = __builtin_fabs(c->r[i * k + j]), term = __builtin_fabs(next[i * k + j]);
    f.finite &= rm_is_finite(size) && rm_is_finite(term);
    f.residual = size > f.residual ? size : f.residual, f.last = term > f.last ? term : f.last;
  }
  for (int t = 0; t < c->terms; t++) {
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++) {
      const double y = c->x[(t * n + i) * k + j];
      int e;
      f.finite &= rm_is_finite(y);
      if (y == 0.0 || !rm_is_finite(y)) continue;
      rm_odd_part(y, &e);
      largest = __builtin_fabs(y) > largest ? __builtin_fabs(y) : largest;
      f.least_bit = e < f.least_bit ? e : f.least_bit;
      f.least = rm_exponent_of(y) < f.least ? rm_exponent_of(y) : f.least;
    }
    f.terms += largest;
  }
  return f;
}

/* All of A is a multiple of 2 to this power. */
static int lowest_bit(const solver *v) {
  int lowest = 0, e;
  for (int64_t i = 0; i < v->s->n * v->s->n; i++)
    if (v->a.a[i] != 0.0 && (rm_odd_part(v->a.a[i], &e), e < lowest)) lowest = e;
  return lowest;
}

/* Whether the terms before the last are the solution: exact residuals are 0, or all residuals are multiples of 2^g, and
 * smaller. */
static int is_solution(const solver *v, const columns *c, int64_t j, const column_facts *f, double unit, double most) {
  if (!f->finite || f->least < LEAST_TERM) return 0;
  if (unit == 0.0) return f->residual == 0.0;
  int g = f->least_bit < c->last_bit[j] ? f->least_bit : c->last_bit[j];
  if (g < -1000 || !(most < rm_pow2(g < 0 ? g : 0))) return 0; /* A's own bits would only add to it */
  const int by_terms = lowest_bit(v) + f->least_bit;
  g = by_terms < g ? by_terms : g;
  return g > -1000 && most < rm_pow2(g < 0 ? g : 0);
}

/* The next term of a triangular system by substitution: with the error of its residual and what it leaves of that, `owed` in
 * all, the distance w from the solution has T w = e, |e| <= owed, so that row by row
 *   |w_i| <= (owed_i + sum of |t_ij| |w_j|)/|t_ii|. */
static void bound_directly(const solver *v, columns *c, int64_t j, double unit) {
  const int64_t n = v->s->n, k = c->count;
  const int lower = v->s->shape == RM_LINALG_LOWER;
  double *const y = v->terms, *const w = y + (c->terms + 1) * n;
  const column_facts f = look(v, c, j);
  const double solved = RM_BOUND(rm_approximate_unit(n));
  double most = 0.0;
  for (int t = 0; t <= c->terms; t++)
    for (int64_t i = 0; i < n; i++) y[t * n + i] = c->x[(t * n + i) * k + j];
  for (int64_t row = 0; row < n; row++) {
    const int64_t i = lower ? row : n - 1 - row, from = lower ? 0 : i, count = lower ? i + 1 : n - i;
    const double *const a = v->a.a + i * n, r = __builtin_fabs(c->r[i * k + j]);
    double terms = __builtin_fabs(c->b[i * k + j]);
    for (int t = 0; t < c->terms; t++) terms += rm_sum_of_magnitudes(count, a + from, y + t * n + from);
    const double last = rm_sum_of_magnitudes(count, a + from, y + c->terms * n + from);
    const double wrong = unit * terms + 0x1.01p-53 * r;
    const double owed = wrong + solved * (last + r);
    w[i] = 0.0;
    const double sum = RM_BOUND(owed) + rm_sum_of_magnitudes(count, a + from, w + from);
    w[i] = above(above(sum, n) / __builtin_fabs(a[i]), n);
    most = wrong > most ? wrong : most;
  }
  const int exact = is_solution(v, c, j, &f, unit, f.residual + above(most, n));
  for (int64_t i = 0; i < n; i++) {
    const int known = f.finite && rm_is_finite(w[i]);
    c->err[i * k + j] = exact ? 0.0 : known ? w[i] : rm_from_bits64(UINT64_C(0x7ff0000000000000));
    if (exact) c->x[(c->terms * n + i) * k + j] = 0.0;
  }
}

static void substitute(const solver *v, int64_t k, double *x) {
  const int64_t n = v->s->n;
  if (v->s->shape == RM_LINALG_LOWER) rm_approximate_lower(n, k, v->a.a, n, 0, x, k);
  else rm_approximate_upper(n, k, v->a.a, n, x, k);
}

/* One more term, and the error bounds of the sum with it. A bound of 0: the sum is the solution, and the last term 0. */
static rm_status refine(const solver *v, columns *c) {
  const int64_t n = v->s->n, k = c->count;
  double *next = c->x + c->terms * n * k, unit;
  const rm_status status = find_residuals(v, c, &unit);
  if (status) return status;
  if (v->direct) {
    memcpy(next, c->r, (size_t)(n * k) * sizeof *next);
    substitute(v, k, next);
    for (int64_t j = 0; j < k; j++) bound_directly(v, c, j, unit);
    c->terms++;
    return RM_OK;
  }
  memset(next, 0, (size_t)(n * k) * sizeof *next);
  const rm_linalg_product product = {n, k, n, v->r, n, c->r, k, 0, next, NULL, k, NULL};
  multiply(v, product, rm_linalg_kernels()->plain);
  const double plain = RM_BOUND(rm_linalg_plain_unit(n));
  for (int64_t j = 0; j < k; j++) {
    const column_facts f = look(v, c, j);
    /* r is rounded, within rho in all: |d - R r|_i <= size_i (plain |r| + rho). b is below 2. */
    const double rho = 0x1.01p-53 * f.residual + unit * (2.0 + v->norm * f.terms * (1.0 + 0x1p-40)) + 0x1p-1040;
    const double around = plain * f.residual + rho,
                 distance = (f.last + v->reach * around + RM_LINALG_TINY) / (1.0 - v->beta);
    const int exact = is_solution(v, c, j, &f, unit, f.residual + rho);
    for (int64_t i = 0; i < n; i++) {
      const double apart = (v->size[i] * around + v->g[i] * distance) * (1.0 + 0x1p-40),
                   err = RM_BOUND(apart) + RM_LINALG_TINY;
      c->err[i * k + j] = exact ? 0.0 : f.finite ? err : rm_from_bits64(UINT64_C(0x7ff0000000000000));
      if (exact) next[i * k + j] = 0.0;
    }
  }
  c->terms++;
  return RM_OK;
}

/* Decides what can be decided, and keeps the columns that need another term. */
static void settle_columns(solver *v, columns *c, uint32_t *flags) {
  const int64_t n = v->s->n, k = v->s->k, format = v->s->a.format;
  int64_t kept = 0;
  unsigned char *open = (unsigned char *)c->r; /* the residuals have served */
  memset(open, 0, (size_t)c->count);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < c->count; j++) {
      const int64_t at = i * k + c->of[j];
      if (!v->wanted[at]) continue;
      const int shift = v->a.col[i] - c->shift[j];
      v->wanted[at] = !settle(c->x + i * c->count + j, n * c->count, c->terms, c->err[i * c->count + j], shift, (int)format,
                              v->bits + at, flags);
      open[j] |= v->wanted[at];
    }
  for (int64_t j = 0; j < c->count; j++) kept += open[j];
  if (kept == c->count) return;
  double *to_b = c->b, *to_x = c->x, *to_err = c->err;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < c->count; j++)
      if (open[j]) *to_b++ = c->b[i * c->count + j], *to_err++ = c->err[i * c->count + j];
  for (int64_t i = 0; i < n * c->terms; i++)
    for (int64_t j = 0; j < c->count; j++)
      if (open[j]) *to_x++ = c->x[i * c->count + j];
  int64_t at = 0;
  for (int64_t j = 0; j < c->count; j++)
    if (open[j]) c->of[at] = c->of[j], c->shift[at] = c->shift[j], c->last_bit[at++] = c->last_bit[j];
  c->count = kept;
}

/* Zeros of the solution that A's zeros explain. With rows in the order of pivots, let the set S hold the places where b is
 * not 0, and each row that has an entry in a column of S. The rows outside have entries only in columns outside, and there b
 * is 0: a square system, regular as A is, whose solution is 0. */
static void settle_zeros(solver *v, const columns *c) {
  const int64_t n = v->s->n, k = v->s->k, words = (n + 63) / 64;
  uint64_t *reached = v->pattern + n * words;
  int64_t *queue = v->place + n;
  memset(v->pattern, 0, (size_t)(n * words) * sizeof *v->pattern);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (v->full[v->place[i] * n + j] != 0.0) v->pattern[j * words + i / 64] |= UINT64_C(1) << (i % 64);
  for (int64_t j = 0; j < c->count; j++) {
    int64_t begin = 0, end = 0;
    memset(reached, 0, (size_t)words * sizeof *reached);
    for (int64_t i = 0; i < n; i++)
      if (v->b[v->place[i] * k + c->of[j]] != 0.0) reached[i / 64] |= UINT64_C(1) << (i % 64), queue[end++] = i;
    for (; begin < end && end < n; begin++)
      for (int64_t w = 0; w < words; w++) {
        uint64_t more = v->pattern[queue[begin] * words + w] & ~reached[w];
        reached[w] |= more;
        for (; more; more &= more - 1) queue[end++] = 64 * w + rm_ctz64(more);
      }
    for (int64_t i = 0; i < n; i++)
      if (!(reached[i / 64] >> (i % 64) & 1)) v->bits[i * k + c->of[j]] = 0, v->wanted[i * k + c->of[j]] = 0;
  }
}

/* The sum of two terms to one bit more than the format has, in two numbers: 0 where nothing else is known of it, NaN where it
 * is too large or too small for exact residuals. */
static void shorten(double x, double next, double err, int format, double y[2]) {
  double rest;
  const double sum = rm_two_sum(x, next, &rest), size = __builtin_fabs(sum);
  y[0] = y[1] = 0.0;
  if (size <= err * (1.0 + 0x1p-40)) return;
  y[0] = __builtin_nan("");
  if (!(size > 0x1p-600 && size < 0x1p900)) return;
  const int e = rm_exponent_of(sum);
  const double step = rm_pow2(e - 53), shift = 1.5 * rm_pow2(e + 28); /* whose last place is 2^(e - 24) */
  y[0] = format == RM_F32 ? (sum + shift) - shift : sum;
  if (format != RM_F32 && __builtin_fabs(rest) >= 0.5 * step) y[1] = rest < 0.0 ? -step : step;
}

/* Solutions that are short: of zeros refinement finds ever smaller numbers, and of midpoints too. Where two terms, shortened,
 * have residuals of 0, they are the solution. */
static rm_status settle_short_solutions(solver *v, columns *c) {
  const int64_t n = v->s->n, k = c->count;
  double *const y = c->low; /* and lowest, which follows */
  int terms = 1;
  for (int64_t at = 0; at < n * k; at++) {
    double part[2];
    shorten(c->x[at], c->x[n * k + at], c->err[at], v->s->a.format, part);
    y[at] = part[0], y[n * k + at] = part[1];
    if (part[1] != 0.0) terms = 2;
  }
  const rm_status status = find_exact_residuals(v, c, y, terms);
  if (status) return status;
  for (int64_t j = 0; j < k; j++) {
    int found = 1;
    for (int64_t i = 0; i < n; i++) found &= c->r[i * k + j] == 0.0;
    for (int64_t i = 0; i < n && found; i++)
      c->x[i * k + j] = y[i * k + j], c->x[(n + i) * k + j] = y[(n + i) * k + j], c->err[i * k + j] = 0.0;
  }
  return RM_OK;
}

static rm_status refine_columns(solver *v, columns *c, uint32_t *flags) {
  const int64_t n = v->s->n;
  rm_status status = RM_OK;
  if (v->direct) {
    memcpy(c->x, c->b, (size_t)(n * c->count) * sizeof *c->x);
    substitute(v, c->count, c->x);
  } else {
    memset(c->x, 0, (size_t)(n * c->count) * sizeof *c->x);
    const rm_linalg_product product = {n, c->count, n, v->r, n, c->b, c->count, 0, c->x, NULL, c->count, NULL};
    multiply(v, product, rm_linalg_kernels()->plain);
  }
  for (c->terms = 1; c->terms < TERMS && c->count && !status;) {
    status = refine(v, c);
    if (status) break;
    settle_columns(v, c, flags);
    if (c->terms > 2 || !c->count) continue;
    settle_zeros(v, c);
    settle_columns(v, c, flags);
    if (c->count) status = settle_short_solutions(v, c);
    settle_columns(v, c, flags);
  }
  return status;
}

static rm_status solve_fast(solver *v, uint32_t *flags) {
  const int64_t n = v->s->n, k = v->s->k;
  columns c = {0};
  c.of = rm_linalg_memory(k, sizeof *c.of), c.shift = rm_linalg_memory(2 * k, sizeof *c.shift);
  c.b = rm_linalg_memory((5 + TERMS) * n * k, sizeof *c.b);
  rm_status status = c.of && c.shift && c.b ? RM_OK : RM_ERR_MEMORY;
  if (!status) {
    c.last_bit = c.shift + k;
    c.x = c.b + n * k, c.r = c.x + TERMS * n * k, c.low = c.r + n * k, c.lowest = c.low + n * k;
    c.err = c.lowest + n * k;
    if (pick_columns(v, &c)) status = refine_columns(v, &c, flags);
  }
  free(c.of), free(c.shift), free(c.b);
  return status;
}

/* Row i of A as far as it is read. Whether it is finite. */
static int read_row(const rm_linear_system *s, int64_t t, int64_t i, double *to) {
  const int64_t from = s->shape == RM_LINALG_UPPER ? i : 0, end = s->shape == RM_LINALG_LOWER ? i + 1 : s->n;
  for (int64_t j = 0; j < from; j++) to[j] = 0.0;
  for (int64_t j = end; j < s->n; j++) to[j] = 0.0;
  if (!s->unit) return rm_read_row(&s->a, t, i, from, end - from, to + from);
  to[i] = 1.0; /* the diagonal is not read */
  const int before = rm_read_row(&s->a, t, i, from, i - from, to + from);
  return rm_read_row(&s->a, t, i, i + 1, end - i - 1, to + i + 1) && before;
}

/* 0 where A is not finite. Columns of B that are not, are decided. */
static int load(solver *v, int64_t t) {
  const int64_t n = v->s->n, k = v->s->k;
  for (int64_t i = 0; i < n; i++)
    if (!read_row(v->s, t, i, v->full + i * n)) return 0;
  memset(v->wanted, 1, (size_t)(n * k));
  for (int64_t j = 0; j < k; j++) {
    int finite = 1, zero = 1;
    for (int64_t i = 0; i < n; i++) {
      const double x = v->s->b.base ? rm_batch_number(&v->s->b, t, i, j) : i == j ? 1.0 : 0.0;
      v->b[i * k + j] = x;
      finite &= rm_is_finite(x), zero &= x == 0.0;
    }
    for (int64_t i = 0; i < n && (zero || !finite); i++) {
      v->b[i * k + j] = 0.0, v->wanted[i * k + j] = 0;
      v->bits[i * k + j] = finite ? 0 : rm_nan_bits(v->s->a.format);
    }
  }
  return 1;
}

static int any_wanted(const solver *v) { return memchr(v->wanted, 1, (size_t)(v->s->n * v->s->k)) != NULL; }

/* The exact tier for the columns that are left. Where no column is left, it says whether A is singular. */
static rm_status finish(solver *v, int regular, int32_t *info, uint32_t *flags) {
  const int64_t n = v->s->n, k = v->s->k;
  if (regular && !any_wanted(v)) return RM_OK;
  int64_t left = 0, *of = rm_linalg_memory(k, sizeof *of);
  double *b = rm_linalg_memory(n * (k + 1), sizeof *b);
  unsigned char *wanted = rm_linalg_memory(n * (k + 1), 1);
  uint64_t *bits = rm_linalg_memory(n * (k + 1), sizeof *bits);
  rm_status status = RM_ERR_MEMORY;
  if (of && b && wanted && bits) {
    for (int64_t j = 0; j < k; j++) {
      int any = 0;
      for (int64_t i = 0; i < n; i++) any |= v->wanted[i * k + j];
      if (any) of[left++] = j;
    }
    const int64_t count = left ? left : 1;
    memset(wanted, 0, (size_t)(n * count));
    for (int64_t i = 0; i < n * count; i++) b[i] = 0.0;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < left; j++)
        b[i * left + j] = v->b[i * k + of[j]], wanted[i * left + j] = v->wanted[i * k + of[j]];
    const rm_exact_system e = {n, count, v->full, b, wanted};
    status = rm_exact_solve(&e, v->s->a.format, bits, info, flags);
    for (int64_t i = 0; i < n && !status && !*info; i++)
      for (int64_t j = 0; j < left; j++)
        if (wanted[i * left + j]) v->bits[i * k + of[j]] = bits[i * left + j], v->wanted[i * k + of[j]] = 0;
  }
  free(of), free(b), free(wanted), free(bits);
  return status;
}

static rm_status solve(solver *v, int64_t t, uint32_t *flags) {
  const rm_linear_system *s = v->s;
  const int64_t n = s->n, k = s->k, size = rm_size_of(s->a.format);
  char *x = s->x + t * n * k * size;
  int32_t *info = s->info + t;
  *info = 0;
  int good = 0, known = load(v, t);
  rm_status status = RM_OK;
  if (known && s->shape != RM_LINALG_FULL)
    for (int64_t i = 0; i < n && !*info; i++)
      if (v->full[i * n + i] == 0.0) *info = (int32_t)(i + 1);
  v->direct = s->shape != RM_LINALG_FULL && k <= DIRECT;
  if (known && !*info && n > 0) {
    good = verify(v);
    if (good && k > 0) status = solve_fast(v, flags);
    if (!status) status = finish(v, good || s->shape != RM_LINALG_FULL, info, flags);
  }
  for (int64_t i = 0; i < n * k; i++) {
    const int decided = known && !*info && (!v->wanted[i]);
    rm_write_bits(x + i * size, decided ? v->bits[i] : rm_nan_bits(s->a.format), s->a.format);
  }
  return status;
}

rm_status rm_solve_system(const rm_linear_system *s, int64_t t, uint32_t *flags) {
  const int64_t n = s->n, k = s->k, words = (n + 63) / 64;
  solver v = {.s = s};
  double *numbers = rm_linalg_memory(4 * n * n + n * k + (TERMS + 3) * n, sizeof *numbers);
  int *scales = rm_linalg_memory(2 * n, sizeof *scales);
  v.place = rm_linalg_memory(2 * n, sizeof *v.place);
  v.pattern = rm_linalg_memory((n + 1) * words, sizeof *v.pattern);
  v.bits = rm_linalg_memory(n * k, sizeof *v.bits);
  v.wanted = rm_linalg_memory(n * k, 1);
  rm_status status = RM_ERR_MEMORY;
  if (numbers && scales && v.place && v.pattern && v.bits && v.wanted) {
    v.full = numbers, v.r = v.full + n * n, v.work = v.r + n * n;
    v.a = (rm_scaled_matrix){n, v.work + n * n, scales, scales + n, 0};
    v.b = v.a.a + n * n, v.g = v.b + n * k, v.size = v.g + n, v.terms = v.size + n;
    status = solve(&v, t, flags);
  }
  free(numbers), free(scales), free(v.place), free(v.pattern), free(v.bits), free(v.wanted);
  return status;
}
