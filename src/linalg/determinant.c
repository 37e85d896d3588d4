/* Determinants: by residuals of factors first (residual.c), then by the enclosure below, then by exact integers (exact.c).
 *
 * With P A ~ L U in binary64, X ~ L^-1 unit lower triangular and Y ~ U^-1 upper triangular, let I + E = X P A Y. Then det A =
 * +-det(I + E)/(y_11 ... y_nn), an exact equation, and E is small. With eps = |E| in the maximum norm
 *   log det(I + E) = tr E - tr(E^2)/2 + what is at most n eps^3/(3 (1 - eps)),   since |tr(E^k)| <= n eps^k.
 * X P A = T + S and E = T Y - I + S Y: compensated sums, and S Y, which is small, plain ones that are added to what the
 * compensated ones have below; kernels.h has the bounds of both. */
#include "determinant.h"

#include <string.h>

#include "../../crlibm/enclosure/ball.h"
#include "../../crlibm/fp/exact.h"
#include "exact.h"
#include "kernels.h"
#include "residual.h"

#define RM_LINALG_TINY 0x1p-900 /* covers all underflow: n^2 terms below 2^-1074, times |Y| < 2^100 */

/* to = |M| from, each sum and its roundings bounded from above. */
static void multiply_magnitudes(int64_t n, const double *m, const double *from, double *to) {
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < n; j++) sum += __builtin_fabs(m[i * n + j]) * from[j];
    to[i] = sum * (1.0 + (double)(n + 8) * 0x1p-52) + RM_LINALG_TINY;
  }
}

enum { BLOCK = 64 }; /* rows or columns of a triangle that are multiplied by the same terms */

/* A product whose first matrix has zeros above its diagonal, or the second one below: what they meet is left out. */
static void multiply_triangle(rm_linalg_product p, int first, void (*kernel)(const rm_linalg_product *)) {
  const int64_t n = p.n;
  for (int64_t i = 0; i < n; i += BLOCK) {
    rm_linalg_product part = p;
    const int64_t count = n - i < BLOCK ? n - i : BLOCK, offset = first ? i * n : i;
    part.k = i + count;
    if (first) part.m = count, part.a += offset;
    else part.n = count, part.b += offset;
    part.c += offset;
    if (part.low) part.low += offset;
    kernel(&part);
  }
}

/* T, S and E. one = rows of |X| |P A| |Y|, other = rows of (|T| + |S|) |Y|, small = rows of |S| |Y| and of what was below T Y
 * - I before. */
static void multiply_factors(rm_det_workspace *w) {
  const int64_t n = w->n;
  const double up = 1.0 + (double)(n + 8) * 0x1p-52;
  const size_t bytes = (size_t)(n * n) * sizeof *w->e;
  memset(w->t, 0, bytes), memset(w->s, 0, bytes), memset(w->e, 0, bytes), memset(w->e_low, 0, bytes);
  for (int64_t i = 0; i < n; i++) w->e[i * n + i] = -1.0;
  const rm_linalg_product first = {n, n, n, w->x, n, w->pa, n, 0, w->t, w->s, n, NULL},
                          second = {n, n, n, w->t, n, w->y, n, 0, w->e, w->e_low, n, NULL},
                          third = {n, n, n, w->s, n, w->y, n, 0, w->e_low, NULL, n, NULL};
  const struct rm_linalg_kernels *kernels = rm_linalg_kernels();
  multiply_triangle(first, 1, kernels->pair);
  multiply_triangle(second, 0, kernels->pair);
  for (int64_t i = 0; i < n; i++) w->other[i] = 1.0;
  multiply_magnitudes(n, w->y, w->other, w->one);
  for (int64_t i = 0; i < n; i++) { /* rounded within what `up` covers */
    double sum = 0.0, small = 0.0;
    for (int64_t j = 0; j < n; j++) {
      const double s = __builtin_fabs(w->s[i * n + j]) * w->one[j];
      sum += __builtin_fabs(w->t[i * n + j]) * w->one[j] + s;
      small += s + __builtin_fabs(w->e_low[i * n + j]);
    }
    w->other[i] = sum * up + RM_LINALG_TINY;
    w->small[i] = small * up + RM_LINALG_TINY;
  }
  multiply_triangle(third, 0, kernels->plain);
  multiply_magnitudes(n, w->pa, w->one, w->rows);
  multiply_magnitudes(n, w->x, w->rows, w->one);
}

int rm_det_exponential(double high, double low, double err, double up, rm_det_enclosure *f) {
  const double lambda = high + low, bound = __builtin_fabs(lambda);
  if (!(bound < 0x1p-8 && err < 0x1p-10)) return 0;
  /* exp: 1 + lambda + lambda^2/2 + lambda^3/6 within lambda^4/23; what is not in high is rounded six times, each 2^-53 of
   * it. */
  const double rest = low + lambda * lambda * (0.5 + lambda * 0x1.5555555555555p-3);
  double one, beside;
  f->hi = rm_two_sum(1.0, high, &one);
  beside = one + rest;
  f->hi = rm_two_sum(f->hi, beside, &f->lo);
  const double errors = 1.01 * err + bound * bound * bound * bound * 0.05 + 0x1p-50 * (__builtin_fabs(low) + bound * bound) +
                        0x1p-52 * __builtin_fabs(beside);
  f->err = RM_BOUND(errors * up) + RM_LINALG_TINY;
  f->e = 0;
  return rm_is_finite(f->err);
}

/* det(I + E) = hi + lo within err; 0 where E is not small. Sums of magnitudes of n^2 terms are multiplied by `up`. Row i of
 * what E lacks is at most unit one_i + unit_e (1 + other_i) + unit_small small_i, and so is its element (i, i). */
static int determinant_beside_one(const rm_det_workspace *w, rm_det_enclosure *f) {
  const int64_t n = w->n;
  const double up = 1.0 + (double)(n * n + 16) * 0x1p-52;
  const double unit = RM_BOUND(rm_linalg_pair_unit(n, 1)), unit_e = RM_BOUND(rm_linalg_pair_unit(n, 1)),
               unit_small = RM_BOUND(rm_linalg_plain_unit(n));
  double eps = 0.0, delta = 0.0, delta_trace = 0.0, trace = 0.0, trace_low = 0.0, trace_size = 0.0, low_size = 0.0,
         square = 0.0, square_size = 0.0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0, e;
    for (int64_t j = 0; j < n; j++) {
      const double p = w->e[i * n + j] * w->e[j * n + i];
      sum += __builtin_fabs(w->e[i * n + j]) + __builtin_fabs(w->e_low[i * n + j]);
      square += p, square_size += __builtin_fabs(p);
    }
    const double row = unit * w->one[i] + unit_e * (1.0 + w->other[i]) + unit_small * w->small[i];
    if (!rm_is_finite(row) || !rm_is_finite(sum)) return 0;
    delta = row > delta ? row : delta;
    eps = sum > eps ? sum : eps;
    delta_trace += row;
    trace = rm_two_sum(trace, w->e[i * n + i], &e);
    trace_low += e + w->e_low[i * n + i];
    trace_size += __builtin_fabs(trace), low_size += __builtin_fabs(w->e_low[i * n + i]);
  }
  /* tr(E^2) leaves out the second parts, which are an error of E there. */
  double low_row = 0.0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < n; j++) sum += __builtin_fabs(w->e_low[i * n + j]);
    low_row = sum > low_row ? sum : low_row;
  }
  delta = delta * up + RM_LINALG_TINY;
  eps = eps * up + delta;
  if (!(eps < 0x1p-10)) return 0;
  /* lambda = log det(I + E): the trace, less half of the square's. trace_low adds n sums of two numbers, which pass at most n
   * + 1 roundings: the first ones are at most 2^-53 trace_size in all, the others low_size. */
  double low;
  const double size = (double)n, trace_err = size * (0x1p-102 * trace_size + 0x1p-51 * low_size),
               err = delta_trace + trace_err + square_size * size * size * 0x1p-53 +
                     2.0 * size * eps * (delta + low_row * up) + 0.34 * size * eps * eps * eps;
  const double high = rm_two_sum(trace, -0.5 * square, &low);
  return rm_det_exponential(high, low + trace_low, err, up, f);
}

/* f times the product of n numbers, or over it, and over the scales. Each of n steps of the product in double-double errs by
 * 2^-102 of it, as what follows does. */
static int join_diagonal(const rm_det_workspace *w, const double *diagonal, int64_t step, int over, rm_det_enclosure *f) {
  const int64_t n = w->n;
  double hi = 1.0, lo = 0.0;
  int64_t e = 0;
  for (int64_t i = 0; i < n; i++) {
    const double y = diagonal[i * step];
    if (!(y != 0.0 && rm_is_finite(y))) return 0;
    const int k = rm_exponent_of(y);
    const double m = rm_scaled(y, -k), p = hi * m, rest = rm_two_prod_error(hi, m, p) + lo * m;
    hi = rm_two_sum(p, rest, &lo);
    e += k;
    if (__builtin_fabs(hi) >= 2.0) hi *= 0.5, lo *= 0.5, e++;
  }
  const double size = __builtin_fabs(hi), q = over ? f->hi / hi : f->hi * hi;
  double rest, errors;
  if (over) {
    const double p = q * hi;
    rest = ((((f->hi - p) - rm_two_prod_error(q, hi, p)) + f->lo) - q * lo) / hi;
    errors = f->err / size;
  } else {
    rest = rm_two_prod_error(f->hi, hi, q) + (f->hi * lo + f->lo * hi);
    errors = f->err * size;
  }
  f->hi = rm_two_sum(q, rest, &f->lo);
  errors = errors * (1.0 + 0x1p-40) + (double)(n + 2) * 0x1.1p-101 * __builtin_fabs(q);
  f->err = RM_BOUND(errors);
  f->e += over ? -e : e;
  for (int64_t i = 0; i < n; i++) f->e -= w->a.row[i] + w->a.col[i];
  if (w->odd) f->hi = -f->hi, f->lo = -f->lo;
  return 1;
}

/* The logarithm of a positive number m 2^e, of `length` limbs, within err units. */
static int round_log(const uint64_t *limbs, int64_t length, int64_t e, double err, int format, uint64_t *bits,
                     uint32_t *flags) {
  rm_ball a, y;
  if (length > 4 * RM_BALL_LIMBS) { /* the limbs below are an error of a unit */
    const int64_t drop = length - 4 * RM_BALL_LIMBS;
    limbs += drop, length -= drop, e += 64 * drop;
    err = rm_ball_up(err + 1.0);
  }
  for (int n = 4; n <= RM_BALL_LIMBS; n *= 2) {
    rm_ball_store(&a, 0, limbs, (int)length, e, err, n);
    rm_ball_log(&y, &a);
    if (rm_ball_round(&y, format, RM_NEAREST, flags, bits)) return 1;
    if (err != 0.0) return 0; /* more limbs do not make it smaller */
  }
  return 0;
}

/* Both results where the enclosure decides them. */
static int settle(const rm_determinants *d, const rm_det_enclosure *f, uint64_t *det, uint64_t *log, uint32_t *flags) {
  const int format = d->a.format;
  const double limit = 0x1p-12 * __builtin_fabs(f->hi);
  if (!(f->err <= limit && __builtin_fabs(f->lo) <= limit) || f->e > 1 << 24 || f->e < -(1 << 24)) return 0;
  if (!d->log) {
    int undecided;
    *det = rm_round_dd(f->hi, f->lo, f->err, (int)f->e, format, RM_NEAREST, flags, &undecided);
    return !undecided;
  }
  rm_u128 m, margin;
  int e;
  rm_decompose_dd(f->hi, f->lo, f->err, &m, &margin, &e);
  const uint64_t limbs[2] = {(uint64_t)m, (uint64_t)(m >> 64)};
  *det = rm_one_bits(format) | rm_signed_zero(f->hi < 0.0, format);
  return round_log(limbs, 2, f->e + e, rm_ball_up((double)margin), format, log, flags);
}

/* The enclosures in the order of what they take. */
static int settle_by_factors(const rm_determinants *d, rm_det_workspace *w, uint64_t *det, uint64_t *log, uint32_t *flags) {
  rm_det_residual v;
  rm_det_enclosure f;
  rm_scale_matrix(&w->a, w->full);
  if (!w->a.exact) return 0;
  const int hope = rm_det_factor(w, &v);
  if (hope < 0) return 0;
  for (int thorough = 0; hope && thorough < 2; thorough++)
    if (rm_det_by_residual(w, &v, thorough, &f) && join_diagonal(w, w->diagonal, 1, 0, &f) && settle(d, &f, det, log, flags))
      return 1;
  multiply_factors(w);
  return determinant_beside_one(w, &f) && join_diagonal(w, w->y, w->n + 1, 1, &f) && settle(d, &f, det, log, flags);
}

static rm_status settle_exactly(const rm_determinants *d, const double *full, uint64_t *det, uint64_t *log, uint32_t *flags) {
  const int format = d->a.format;
  rm_exact_number x;
  rm_status status = rm_exact_determinant(d->n, full, &x);
  if (status) return status;
  if (x.length == 0) *det = 0, *log = rm_signed_infinity(1, format);
  else if (!d->log) {
    int64_t at;
    const rm_u128 m = rm_mp_sticky(x.limbs, (int)x.length - 1, &at);
    *det = rm_round_exact(x.negative, m, x.e + 64 * (x.length - 1) + at, format, RM_NEAREST, flags);
  } else {
    *det = rm_one_bits(format) | rm_signed_zero(x.negative, format);
    if (!round_log(x.limbs, x.length, x.e, 0.0, format, log, flags)) status = RM_ERR_UNDECIDED;
  }
  free(x.limbs);
  return status;
}

static rm_status determinant(const rm_determinants *d, rm_det_workspace *w, int64_t t, uint32_t *flags) {
  const int64_t n = d->n;
  const int format = d->a.format, size = rm_size_of(format);
  uint64_t det = rm_nan_bits(format), log = det;
  int finite = 1;
  for (int64_t i = 0; i < n; i++) finite &= rm_read_row(&d->a, t, i, 0, n, w->full + i * n);
  rm_status status = RM_OK;
  if (n == 0) det = rm_one_bits(format), log = 0;
  else if (finite) {
    uint64_t det_bits = det, log_bits = log;
    if (!settle_by_factors(d, w, &det_bits, &log_bits, flags))
      status = settle_exactly(d, w->full, &det_bits, &log_bits, flags);
    if (!status) det = det_bits, log = log_bits;
  }
  rm_write_bits(d->det + t * size, det, format);
  if (d->log) rm_write_bits(d->log + t * size, log, format);
  return status;
}

rm_status rm_determinant_of(const rm_determinants *d, int64_t t, uint32_t *flags) {
  const int64_t n = d->n;
  rm_det_workspace w = {.n = n};
  double *numbers = rm_linalg_memory(9 * n * n + 5 * n, sizeof *numbers);
  int *scales = rm_linalg_memory(2 * n, sizeof *scales);
  w.place = rm_linalg_memory(n, sizeof *w.place);
  rm_status status = RM_ERR_MEMORY;
  if (numbers && scales && w.place) {
    w.full = numbers, w.pa = w.full + n * n, w.y = w.pa + n * n, w.x = w.y + n * n, w.t = w.x + n * n, w.s = w.t + n * n;
    w.e = w.s + n * n, w.e_low = w.e + n * n, w.one = w.e_low + n * n, w.other = w.one + n, w.rows = w.other + n;
    w.small = w.rows + n, w.diagonal = w.small + n;
    w.a = (rm_scaled_matrix){n, w.diagonal + n, scales, scales + n, 0};
    status = determinant(d, &w, t, flags);
  }
  free(numbers), free(scales), free(w.place);
  return status;
}
