/* Cholesky and LU. An entry's sum is a dot product of rows that are rounded already, by the kernels and bounds of src/reduce:
 * binary64 sums for f32, compensated ones for f64, then the superaccumulator. So neither blocks nor threads can change a bit.
 *
 * Zeros at the beginning of rows add nothing to a sum and are skipped, unless some entry is infinite or NaN: a banded matrix
 * stays cheap, and its zeros are known to be zeros. */
#include "recurrence.h"

#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../reduce/exact.h"
#include "../reduce/sum_parts.h"

/* hi + lo within err of a difference. */
typedef struct {
  double hi, lo, err;
} approximation;

/* 0 where nothing is known, and then hi is not finite. |dot - (hi + lo)| <= err by sum_parts.h; a - hi = s + e exactly, and
 * e - lo is rounded once: 2^-53 of it. */
static int approximate(const rm_difference *d, int tier, approximation *v) {
  const double a = rm_read_element(d->a, d->format);
  v->hi = rm_from_bits64(rm_nan_bits(RM_F64));
  if (d->n == 0) {
    *v = (approximation){a, 0.0, 0.0};
    return rm_is_finite(a);
  }
  const ptrdiff_t size = rm_size_of(d->format);
  const rm_sum_problem p = {d->n, {d->x, size}, {d->y, size}, d->format, NULL};
  double hi, lo, err, e;
  rm_partial s;
  if (tier) rm_reduce_kernels()->compensated(p.n, p.x, p.y, p.fmt, &s);
  else rm_reduce_kernels()->plain(p.n, p.x, p.y, p.fmt, &s);
  if (!rm_partial_known(&s, &p, tier, &hi, &lo, &err)) return 0;
  const double sum = rm_two_sum(a, -hi, &e), rest = e - lo;
  v->hi = rm_two_sum(sum, rest, &v->lo);
  v->err = (err + 0x1p-52 * __builtin_fabs(rest)) * (1.0 + 0x1p-40);
  return rm_is_finite(v->hi);
}

/* Whether all of v rounds to one number of the format. The ends v->lo -+ err are rounded: 2^-53 (|lo| + err), which widens
 * err; so do two conversions for binary32. */
static int decide(approximation v, int format, uint64_t *bits) {
  const double size = __builtin_fabs(v.hi);
  if (format == RM_F32) {
    const double err = v.err * (1.0 + 0x1p-40) + 0x1p-51 * size;
    const float low = (float)(v.hi + (v.lo - err)), high = (float)(v.hi + (v.lo + err));
    *bits = rm_bits32(low);
    return rm_bits32(low) == rm_bits32(high) && rm_is_finite_f32(low);
  }
  const double err = v.err == 0.0 ? 0.0 : v.err * (1.0 + 0x1p-40) + 0x1p-105 * size;
  const double low = v.hi + (v.lo - err), high = v.hi + (v.lo + err);
  *bits = rm_bits64(low);
  return rm_bits64(low) == rm_bits64(high) && rm_is_finite(low);
}

/* Numbers whose products and quotients lose nothing to underflow or overflow (rm_two_prod_error wants 2^-968 to 2^996). */
static int is_tame(double x) { return __builtin_fabs(x) > 0x1p-400 && __builtin_fabs(x) < 0x1p400; }

/* v/d: q = RN(hi/d), and hi - q d is exact; with lo it is rounded once, and once divided: two errors of 2^-53 of a correction
 * below 2^-51 q. */
static int divide(approximation v, double d, approximation *q) {
  if (!is_tame(v.hi) || !is_tame(d)) return 0;
  q->hi = v.hi / d;
  const double p = q->hi * d, rest = (v.hi - p) - rm_two_prod_error(q->hi, d, p);
  q->lo = (rest + v.lo) / d;
  const double quotient_err = v.err / __builtin_fabs(d) * (1.0 + 0x1p-40) + 0x1p-102 * __builtin_fabs(q->hi);
  q->err = RM_BOUND(quotient_err);
  return 1;
}

/* The root of v: s = RN(root of hi), hi - s^2 exact. With t = (v - s^2)/s^2, |t| <= 2^-50, the root is s (1 + t/2) within s
 * t^2/8 <= 2^-103 s; the correction t s/2 is rounded twice, 2^-53 of 2^-51 s each. err <= 2^-20 hi keeps the derivative
 * within 1 + 2^-20. */
static int root(approximation v, approximation *q) {
  if (!(v.hi > 0.0) || !is_tame(v.hi) || !(v.err <= 0x1p-50 * v.hi)) return 0;
  q->hi = __builtin_sqrt(v.hi);
  const double p = q->hi * q->hi, rest = (v.hi - p) - rm_two_prod_error(q->hi, q->hi, p);
  q->lo = (rest + v.lo) / (2.0 * q->hi);
  const double root_err = v.err / (2.0 * q->hi) * (1.0 + 0x1p-19) + 0x1p-101 * q->hi;
  q->err = RM_BOUND(root_err);
  return 1;
}

/* The exact difference. */
static void accumulate(const rm_difference *d, rm_superaccumulator *acc) {
  const ptrdiff_t size = rm_size_of(d->format);
  rm_superaccumulator products;
  rm_superacc_clear(acc);
  rm_superacc_add_array(acc, d->format, 1, d->a, size);
  rm_superacc_clear(&products);
  rm_superacc_add_products(&products, d->format, d->n, d->x, size, d->y, size);
  rm_superacc_merge(acc, &products, 1); /* fewer than 2^60 terms are in range */
}

/* x/d where one of them is not finite, or d is 0: IEEE 754's. */
static uint64_t special_quotient(uint64_t x_bits, int x_is_zero, double d, int format, uint32_t *flags) {
  const uint64_t infinity = rm_infinity_bits(format), sign = rm_sign_bit(format), size = x_bits & ~sign;
  const int negative = ((x_bits & sign) != 0) != rm_is_negative(d);
  if (rm_is_nan(d) || size > infinity) return rm_nan_bits(format);
  if (size == infinity) return rm_is_infinite(d) ? rm_invalid(format, flags) : rm_signed_infinity(negative, format);
  if (rm_is_infinite(d)) return rm_signed_zero(x_is_zero ? 0 : negative, format);
  return x_is_zero ? rm_invalid(format, flags) : rm_pole(negative, format, flags);
}

/* The entry by exact integers: of |difference| = (m + rest) 2^e the quotient m/d, d of 53 bits, has 74 bits or more, and a
 * remainder or a rest is its sticky bit; so it is with the root. */
static uint64_t exact_entry(const rm_difference *d, int what, double by, uint32_t *flags) {
  rm_superaccumulator acc;
  accumulate(d, &acc);
  if (what == RM_ENTRY_AS_IT_IS) return rm_superacc_round(&acc, d->format, RM_NEAREST, flags);
  if (acc.classes) {
    const uint64_t x = rm_superacc_round_classes(acc.classes, d->format, flags);
    if (what == RM_ENTRY_QUOTIENT) return special_quotient(x, 0, by, d->format, flags);
    return x == rm_infinity_bits(d->format) ? x : rm_nan_bits(d->format);
  }
  const rm_superacc_top top = rm_superacc_get_top(&acc);
  if (what == RM_ENTRY_QUOTIENT) {
    if (by == 0.0 || !rm_is_finite(by))
      return special_quotient(top.negative && top.m ? rm_sign_bit(d->format) : 0, top.m == 0, by, d->format, flags);
    if (top.m == 0) return 0;
    int e;
    const uint64_t m = rm_decompose(by, &e);
    const rm_u128 q = top.m / m;
    return rm_round_exact(top.negative != rm_is_negative(by), q | (rm_u128)(top.m % m != 0 || top.inexact),
                          (int64_t)top.e - e, d->format, RM_NEAREST, flags);
  }
  if (top.m == 0) return 0;
  return top.negative ? rm_nan_bits(d->format)
                      : rm_round_root(top.m | (rm_u128)top.inexact, top.e, d->format, RM_NEAREST, flags);
}

/* What an approximation says of an entry; NO_USE: nothing, nor will a better one. */
enum { OPEN, DECIDED, NO_USE };

static int round_entry(const rm_difference *d, approximation v, int what, double by, uint64_t *bits) {
  approximation q = v;
  *bits = 0;
  if (v.hi == 0.0 && v.err == 0.0 && (what == RM_ENTRY_AS_IT_IS || (what == RM_ENTRY_QUOTIENT && is_tame(by))))
    return DECIDED;
  if (what == RM_ENTRY_AS_IT_IS) q.err = RM_BOUND(v.err);
  else if (!(what == RM_ENTRY_QUOTIENT ? divide(v, by, &q) : root(v, &q))) return NO_USE;
  return decide(q, d->format, bits) && (*bits & ~rm_sign_bit(d->format)) ? DECIDED : OPEN;
}

/* *v is the best that is known of the difference, not finite where that is nothing. */
static uint64_t entry(const rm_difference *d, int what, double by, uint32_t *flags, approximation *v) {
  for (int tier = d->format == RM_F64; tier < 2; tier++) {
    uint64_t bits;
    const int known = approximate(d, tier, v) ? round_entry(d, *v, what, by, &bits) : NO_USE;
    if (known == DECIDED) return bits;
    if (known == NO_USE) break;
  }
  return exact_entry(d, what, by, flags);
}

uint64_t rm_entry_of(const rm_difference *d, int what, double by, uint32_t *flags) {
  approximation v;
  return entry(d, what, by, flags, &v);
}

/* Where rows of rounded entries begin to be other than 0, so that sums may begin there. */
typedef struct {
  int64_t *first;
  int *finite; /* cleared when an entry is not finite: then no term is left out */
} zeros;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Entry k of row i, of which those before are known. */
static void note(const zeros *z, int64_t i, int64_t k, uint64_t bits, int format) {
  const uint64_t size = bits & ~rm_sign_bit(format);
  if (size == 0 && z->first[i] == k) z->first[i] = k + 1;
  if (size >= rm_infinity_bits(format)) *z->finite = 0;
}

rm_status rm_cholesky_of(const rm_batch *a, int64_t t, int64_t n, char *l, int32_t *info, uint32_t *flags) {
  const int format = a->format;
  const int64_t size = rm_size_of(format);
  const uint64_t nan = rm_nan_bits(format);
  int finite = 1;
  *info = 0;
  if (rm_factor_by_panels(a, t, n, n, l, NULL, flags)) return RM_OK;
  int64_t *first = rm_linalg_memory(n, sizeof *first);
  if (!first) return RM_ERR_MEMORY;
  const zeros z = {first, &finite};
  memset(l, 0, (size_t)(n * n * size));
  for (int64_t i = 0; i < n && !*info; i++) {
    char *row = l + i * n * size;
    first[i] = 0;
    for (int64_t j = 0; j <= i; j++) {
      const char *other = l + j * n * size;
      const int64_t from = finite ? later(first[i], j == i ? 0 : first[j]) : 0, begin = from < j ? from : j;
      const rm_difference d = {format, rm_batch_at(a, t, i, j), row + begin * size, other + begin * size, j - begin};
      const double by = j < i ? rm_read_element(other + j * size, format) : 0.0;
      approximation v;
      const uint64_t bits = entry(&d, j < i ? RM_ENTRY_QUOTIENT : RM_ENTRY_ROOT, by, flags, &v);
      if (j == i && (bits == 0 || bits == nan)) *info = (int32_t)(i + 1);
      else rm_write_bits(row + j * size, bits, format), note(&z, i, j, bits, format);
    }
  }
  if (*info)
    for (int64_t i = *info - 1; i < n; i++)
      for (int64_t j = 0; j <= i; j++) rm_write_bits(l + (i * n + j) * size, nan, format);
  free(first);
  return RM_OK;
}

/* Workspace of LU: rows of L, and columns of U, each with room for k = min(m, n) entries. */
typedef struct {
  const rm_batch *a;
  int64_t t, m, n, k, size;
  char *l, *u;
  approximation *numerator; /* of each row: a column's differences are rounded, and then divided by the largest */
  int64_t *row, *first_l, *first_u; /* row[i]: the row of A, and of l, at place i */
  int finite;
} lu_work;

static rm_difference lu_difference(const lu_work *w, int64_t i, int64_t j, int64_t terms) {
  const int64_t r = w->row[i], from = w->finite ? later(w->first_l[r], w->first_u[j]) : 0,
                begin = from < terms ? from : terms;
  return (rm_difference){w->a->format, rm_batch_at(w->a, w->t, r, j), w->l + (r * w->k + begin) * w->size,
                         w->u + (j * w->k + begin) * w->size, terms - begin};
}

/* Step j: column j of L and row j of U. Whether the pivot is zero. */
static int lu_step(lu_work *w, int64_t j, int32_t *pivot, uint32_t *flags) {
  const int format = w->a->format;
  const uint64_t sign = rm_sign_bit(format), infinity = rm_infinity_bits(format);
  const zeros in_l = {w->first_l, &w->finite}, in_u = {w->first_u, &w->finite};
  int64_t best = j;
  uint64_t largest = 0, pivot_bits = 0;
  for (int64_t i = j; i < w->m; i++) { /* the numerators, rounded: the largest is the pivot, a NaN before all */
    const rm_difference d = lu_difference(w, i, j, j);
    const uint64_t bits = entry(&d, RM_ENTRY_AS_IT_IS, 1.0, flags, w->numerator + w->row[i]), magnitude = bits & ~sign;
    rm_write_bits(w->l + (w->row[i] * w->k + j) * w->size, bits, format);
    if (i == j || magnitude > largest) best = i, largest = magnitude, pivot_bits = bits;
    if (magnitude > infinity) break;
  }
  for (int64_t i = best + 1; i < w->m && largest > infinity; i++) { /* the column is NaN */
    const uint64_t nan = rm_nan_bits(format);
    rm_write_bits(w->l + (w->row[i] * w->k + j) * w->size, nan, format);
  }
  const int64_t r = w->row[best];
  w->row[best] = w->row[j], w->row[j] = r;
  *pivot = (int32_t)(best + 1);
  char *to = w->u + (j * w->k + j) * w->size;
  rm_write_bits(to, pivot_bits, format);
  const double by = rm_read_element(to, format);
  if (largest != 0)
    for (int64_t i = j + 1; i < w->m; i++) {
      const rm_difference d = lu_difference(w, i, j, j);
      approximation *const v = w->numerator + w->row[i];
      uint64_t bits;
      if (largest > infinity || !rm_is_finite(v->hi) || round_entry(&d, *v, RM_ENTRY_QUOTIENT, by, &bits) != DECIDED)
        bits = entry(&d, RM_ENTRY_QUOTIENT, by, flags, v);
      rm_write_bits(w->l + (w->row[i] * w->k + j) * w->size, bits, format);
    }
  for (int64_t i = j + 1; i < w->m; i++)
    note(&in_l, w->row[i], j, rm_read_bits(w->l + (w->row[i] * w->k + j) * w->size, format), format);
  note(&in_u, j, j, pivot_bits, format);
  for (int64_t c = j + 1; c < w->n; c++) {
    const rm_difference d = lu_difference(w, j, c, j);
    approximation v;
    const uint64_t bits = entry(&d, RM_ENTRY_AS_IT_IS, 1.0, flags, &v);
    rm_write_bits(w->u + (c * w->k + j) * w->size, bits, format);
    note(&in_u, c, j, bits, format);
  }
  return largest == 0;
}

rm_status rm_lu_of(const rm_batch *a, int64_t t, int64_t m, int64_t n, char *lu, int32_t *pivots, int32_t *info,
                   uint32_t *flags) {
  *info = 0;
  if (rm_factor_by_panels(a, t, m, n, lu, pivots, flags)) return RM_OK;
  const int64_t k = m < n ? m : n, size = rm_size_of(a->format);
  lu_work w = {.a = a, .t = t, .m = m, .n = n, .k = k, .size = size, .finite = 1};
  w.l = rm_linalg_memory(m * k, size), w.u = rm_linalg_memory(n * k, size);
  w.row = rm_linalg_memory(2 * m + n, sizeof *w.row);
  w.numerator = rm_linalg_memory(m, sizeof *w.numerator);
  rm_status status = RM_ERR_MEMORY;
  if (w.l && w.u && w.row && w.numerator) {
    w.first_l = w.row + m, w.first_u = w.first_l + m;
    for (int64_t i = 0; i < m; i++) w.row[i] = i, w.first_l[i] = 0;
    for (int64_t j = 0; j < n; j++) w.first_u[j] = 0;
    for (int64_t j = 0; j < k; j++)
      if (lu_step(&w, j, pivots + j, flags) && !*info) *info = (int32_t)(j + 1);
    for (int64_t i = 0; i < m; i++) {
      const int64_t below = i < k ? i : k;
      memcpy(lu + i * n * size, w.l + w.row[i] * k * size, (size_t)(below * size));
      for (int64_t j = below; j < n; j++) memcpy(lu + (i * n + j) * size, w.u + (j * k + i) * size, (size_t)size);
    }
    status = RM_OK;
  }
  free(w.l);
  free(w.u);
  free(w.row);
  free(w.numerator);
  return status;
}
