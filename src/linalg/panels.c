/* LU and Cholesky by panels of columns, where numbers are tame: the entries of recurrence.c, whose sums are subtracted from A
 * as soon as their terms are known: a panel's terms by columns, all others by products of matrices. What a vector does not
 * decide is computed by itself; where that is much, or a pivot is zero, or something is infinite or NaN, recurrence.c begins
 * anew. Cholesky's U is the transpose of L; what is above the diagonal of C and of L has no use there.
 *
 * Bounds. An entry passes the subtractions of its terms, and is off by at most `unit` of the sum of magnitudes. That is at
 * most (largest |a| of the row or of the column, the smaller) + (largest |l| of the row) (sum of |u| of the column), rounded
 * to nearest in each of k steps, which `up` covers. Each term passes the chain of its own product, at most PANEL terms, and
 * one addition for each later call: one a panel, and one a column within the panel. Pairs: kernels.h. Numbers of binary32:
 * their products are exact in binary64, so that a term is rounded by additions alone, h in all, and (1 + 2^-53)^h - 1 <=
 * 1.01 h 2^-53. Underflow loses at most 2^-1069 a term, which is below 2^-900 unit. Where all terms are 0 nothing is lost.
 * What overflows, the parts of a large factor too where there is no FMA, makes an entry infinite or NaN, and then it is
 * computed by itself. */
#include <string.h>

#include "columns.h"
#include "kernels.h"
#include "recurrence.h"

enum { PANEL = 16, BLOCK = 64, FEW = 64, SHARE = 2, LEAST_SIZE = 8 };

/* Rows of C = A less the terms of panels before, of L and of U; a panel's columns of C and L, each beside each other. */
typedef struct {
  const rm_batch *a;
  int64_t t, m, n, k, ld_c, ld_l;
  double *c, *c_low, *l, *u, *panel, *panel_low, *panel_l;
  double *of_columns, *sum_u, *of_rows, *largest_l; /* the largest of A by columns and rows, of L by rows */
  double *size;
  char *x, *y; /* the terms of one entry, in the format */
  int64_t *row, begin, open, known; /* row[i]: the row of A at place i; the panel's first column */
  uint32_t *flags;
} panels;

/* `count` numbers of a format, which hold exactly what x has. */
static void write_numbers(char *to, const double *x, int64_t count, int format) {
  if (format == RM_F64) {
    memcpy(to, x, (size_t)count * sizeof *x);
    return;
  }
  for (int64_t i = 0; i < count; i++) rm_write_bits(to + 4 * i, rm_bits32((float)x[i]), RM_F32);
}

static double *column_at(const panels *w, double *columns, int64_t j, int64_t i) {
  return columns ? columns + (j - w->begin) * (w->m + RM_LINALG_PADDING) + (i - w->begin) : NULL;
}
static double *row_at(const panels *w, double *rows, int64_t i, int64_t j) { return rows ? rows + i * w->ld_c + j : NULL; }

/* Entry (i, j) by itself: l_i0 to l_i,terms-1 are in panel_l from the panel's first column on, and in l before. */
static double entry_alone(panels *w, int64_t i, int64_t j, int64_t terms, int what, double by) {
  const int format = w->a->format;
  const int64_t size = rm_size_of(format);
  for (int64_t k = 0; k < terms; k++) {
    const double l = k < w->begin ? w->l[i * w->ld_l + k] : *column_at(w, w->panel_l, k, i);
    write_numbers(w->x + k * size, &l, 1, format);
    write_numbers(w->y + k * size, w->u + k * w->ld_c + j, 1, format);
  }
  const rm_difference d = {format, rm_batch_at(w->a, w->t, w->row[i], j), w->x, w->y, terms};
  w->open++;
  return rm_to_double(rm_entry_of(&d, what, by, w->flags), format);
}

static rm_linalg_column bounds_of(const panels *w, int64_t n, double *hi, double *low, int64_t terms) {
  rm_linalg_column v = {n, hi, low, w->size, 0.0};
  if (terms == 0) return v;
  const int64_t calls = w->begin / PANEL + (terms - w->begin);
  const double h = (double)(PANEL + calls + 4);
  v.unit = RM_BOUND(low ? rm_linalg_pair_unit(PANEL, calls) : h * 0x1.03p-53);
  return v;
}

/* Sizes of `count` entries of column j from row i on, or of row i from column j on; 0 where all terms are 0. */
static void note_sizes(panels *w, int64_t i, int64_t j, int64_t count, int of_row) {
  const double up = 1.0 + (double)(w->k + 8) * 0x1p-52;
  for (int64_t t = 0; t < count; t++) {
    const int64_t r = of_row ? i : i + t, c = of_row ? j + t : j;
    const double a = w->of_rows[r] < w->of_columns[c] ? w->of_rows[r] : w->of_columns[c];
    const double l = w->largest_l[r], u = w->sum_u[c], size = (a + l * u) * up + 0x1p-900;
    w->size[t] = l > 0.0 && u > 0.0 ? size : 0.0;
  }
}

/* Row i of U from column j on, `count` numbers, of which i terms have been subtracted. Whether all are finite. */
static int row_of_u(panels *w, int64_t i, int64_t j, int64_t count, double *hi, double *low) {
  double *u = w->u + i * w->ld_c + j;
  const rm_linalg_column v = bounds_of(w, count, hi, low, i);
  note_sizes(w, i, j, count, 1);
  if (rm_column_kernels()->round(&v, w->a->format, u) < count)
    for (int64_t c = 0; c < count; c++)
      if (!rm_is_finite(u[c])) u[c] = entry_alone(w, i, j + c, i, RM_ENTRY_AS_IT_IS, 1.0);
  w->known += count;
  for (int64_t c = 0; c < count; c++) {
    if (!rm_is_finite(u[c])) return 0;
    w->sum_u[j + c] += __builtin_fabs(u[c]);
  }
  return w->open <= FEW + w->known / SHARE;
}

static void swap_numbers(double *x, double *y, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) {
    const double t = x[i * step];
    x[i * step] = y[i * step], y[i * step] = t;
  }
}

/* Rows i and j of all that is kept by rows: of C what is right of the panel, of L what is left of it. */
static void swap_rows(panels *w, int64_t i, int64_t j, int64_t right) {
  const int64_t r = w->row[i], step = w->m + RM_LINALG_PADDING;
  if (i == j) return;
  w->row[i] = w->row[j], w->row[j] = r;
  swap_numbers(w->of_rows + i, w->of_rows + j, 1, 1), swap_numbers(w->largest_l + i, w->largest_l + j, 1, 1);
  swap_numbers(row_at(w, w->c, i, right), row_at(w, w->c, j, right), w->n - right, 1);
  swap_numbers(w->l + i * w->ld_l, w->l + j * w->ld_l, w->begin, 1);
  swap_numbers(w->panel + i - w->begin, w->panel + j - w->begin, PANEL, step);
  swap_numbers(w->panel_l + i - w->begin, w->panel_l + j - w->begin, PANEL, step);
  if (!w->c_low) return;
  swap_numbers(row_at(w, w->c_low, i, right), row_at(w, w->c_low, j, right), w->n - right, 1);
  swap_numbers(w->panel_low + i - w->begin, w->panel_low + j - w->begin, PANEL, step);
}

/* The largest numerator of column j, rounded, becomes the first. Whether it is other than 0 and all are finite. */
static int choose_pivot(panels *w, const rm_linalg_column *v, int64_t j, int64_t end, int32_t *pivot) {
  double *l = column_at(w, w->panel_l, j, j), largest = -1.0;
  int64_t best = 0;
  const int all = rm_column_kernels()->round(v, w->a->format, l) == v->n;
  for (int64_t i = 0; i < v->n; i++) { /* the first of the largest */
    if (!all && !rm_is_finite(l[i])) l[i] = entry_alone(w, j + i, j, j, RM_ENTRY_AS_IT_IS, 1.0);
    if (!rm_is_finite(l[i])) return 0;
    if (__builtin_fabs(l[i]) > largest) best = i, largest = __builtin_fabs(l[i]);
  }
  w->known += v->n;
  swap_rows(w, j, j + best, end);
  *pivot = (int32_t)(j + best + 1);
  return largest > 0.0;
}

/* Column j of a panel that ends before column `end`; pivots is NULL for Cholesky. Whether it is tame. */
static int panel_column(panels *w, int64_t j, int64_t end, int32_t *pivots) {
  const int format = w->a->format;
  const struct rm_column_kernels *kernels = rm_column_kernels();
  const int64_t count = w->m - j;
  double *l = column_at(w, w->panel_l, j, j);
  for (int64_t i = w->begin; i < j; i++) {
    const int64_t from = pivots ? i + 1 : j;
    double *hi = column_at(w, w->panel, j, i), *low = column_at(w, w->panel_low, j, i);
    if (pivots && !row_of_u(w, i, j, 1, hi, low)) return 0;
    const rm_linalg_column rest = {w->m - from, hi + (from - i), low ? low + (from - i) : NULL, NULL, 0.0};
    kernels->subtract(&rest, w->u[i * w->ld_c + j], column_at(w, w->panel_l, i, from));
  }
  rm_linalg_column v = bounds_of(w, count, column_at(w, w->panel, j, j), column_at(w, w->panel_low, j, j), j);
  note_sizes(w, j, j, count, 0);
  if (pivots ? !choose_pivot(w, &v, j, end, pivots + j) : !((l[0] = entry_alone(w, j, j, j, RM_ENTRY_ROOT, 1.0)) > 0.0))
    return 0;
  const double by = l[0], size = __builtin_fabs(by);
  if (!(size > 0x1p-400 && size < 0x1p400)) return 0;
  v.n = count - 1, v.hi++, v.low = v.low ? v.low + 1 : NULL;
  note_sizes(w, j + 1, j, count - 1, 0); /* rows have changed places */
  const int divided = kernels->divide(&v, by, format, l + 1) == count - 1;
  for (int64_t i = 1; i < count; i++) {
    if (!divided && !rm_is_finite(l[i])) l[i] = entry_alone(w, j + i, j, j, RM_ENTRY_QUOTIENT, by);
    if (!rm_is_finite(l[i])) return 0;
    if (__builtin_fabs(l[i]) > w->largest_l[j + i]) w->largest_l[j + i] = __builtin_fabs(l[i]);
  }
  w->known += count;
  if (pivots) {
    w->u[j * w->ld_c + j] = by;
  } else {
    memcpy(w->u + j * w->ld_c + j, l, (size_t)count * sizeof *l);
    for (int64_t i = 1; i < count; i++) w->sum_u[j + i] += __builtin_fabs(l[i]);
    w->open--; /* the root, which is always by itself */
  }
  return w->open <= FEW + w->known / SHARE;
}

/* C less the panel's products, beyond it; below the diagonal alone for Cholesky. */
static void subtract_products(const panels *w, int64_t end, int below) {
  const int64_t step = below ? BLOCK : w->n;
  for (int64_t j = end; j < w->n; j += step) {
    const int64_t i = below ? j : end, columns = w->n - j < step ? w->n - j : step;
    const rm_linalg_product p = {
        w->m - i, columns, end - w->begin,        w->l + i * w->ld_l + w->begin, w->ld_l, w->u + w->begin * w->ld_c + j,
        w->ld_c,  1,       row_at(w, w->c, i, j), row_at(w, w->c_low, i, j),     w->ld_c, NULL,
    };
    if (p.m > 0) (w->c_low ? rm_linalg_kernels()->pair : rm_linalg_kernels()->plain)(&p);
  }
}

/* Columns `begin` to `end` of L, those rows of U, and what they subtract from all entries beyond. */
static int one_panel(panels *w, int64_t end, int32_t *pivots) {
  const int64_t begin = w->begin;
  const struct rm_column_kernels *kernels = rm_column_kernels();
  for (int64_t i = begin; i < w->m; i++)
    for (int64_t j = begin; j < end; j++) {
      *column_at(w, w->panel, j, i) = *row_at(w, w->c, i, j);
      if (w->c_low) *column_at(w, w->panel_low, j, i) = *row_at(w, w->c_low, i, j);
    }
  for (int64_t j = begin; j < end; j++)
    if (!panel_column(w, j, end, pivots)) return 0;
  for (int64_t i = begin; i < w->m; i++)
    for (int64_t j = begin; j < end && j <= i; j++) w->l[i * w->ld_l + j] = *column_at(w, w->panel_l, j, i);
  for (int64_t i = begin; pivots && i < end && end < w->n; i++) {
    const rm_linalg_column rest = {w->n - end, row_at(w, w->c, i, end), row_at(w, w->c_low, i, end), NULL, 0.0};
    for (int64_t k = begin; k < i; k++) kernels->subtract(&rest, w->l[i * w->ld_l + k], w->u + k * w->ld_c + end);
    if (!row_of_u(w, i, end, rest.n, rest.hi, rest.low)) return 0;
  }
  subtract_products(w, end, !pivots);
  return 1;
}

/* A in C, its lower triangle for Cholesky; whether all of it is finite. */
static int begin_panels(panels *w, int below) {
  for (int64_t i = 0; i < w->m; i++) {
    w->row[i] = i;
    for (int64_t j = 0; j < (below ? i + 1 : w->n); j++) {
      const double x = rm_batch_number(w->a, w->t, i, j), size = __builtin_fabs(x);
      if (!rm_is_finite(x)) return 0;
      *row_at(w, w->c, i, j) = x;
      if (size > w->of_columns[j]) w->of_columns[j] = size;
      if (size > w->of_rows[i]) w->of_rows[i] = size;
    }
  }
  return 1;
}

/* Row i: below the diagonal of L, and then of U; or L with its diagonal, and zeros. */
static void write_factors(const panels *w, char *to, int below) {
  const int format = w->a->format;
  const int64_t size = rm_size_of(format);
  if (below) memset(to, 0, (size_t)(w->n * w->n * size));
  for (int64_t i = 0; i < w->m; i++) {
    const int64_t count = below ? i + 1 : i < w->k ? i : w->k;
    char *row = to + i * w->n * size;
    write_numbers(row, w->l + i * w->ld_l, count, format);
    if (i < w->k && !below) write_numbers(row + count * size, w->u + i * w->ld_c + count, w->n - count, format);
  }
}

int rm_factor_by_panels(const rm_batch *a, int64_t t, int64_t m, int64_t n, char *to, int32_t *pivots, uint32_t *flags) {
  const int64_t k = m < n ? m : n, longest = (m > n ? m : n) + RM_LINALG_PADDING;
  const int pairs = a->format == RM_F64;
  if (k < LEAST_SIZE || (a->format != RM_F32 && !pairs)) return 0;
  panels w = {.a = a, .t = t, .m = m, .n = n, .k = k, .ld_c = n + RM_LINALG_PADDING, .ld_l = k + RM_LINALG_PADDING};
  const int64_t of_c = m * w.ld_c, of_u = k * w.ld_c, of_l = m * w.ld_l, of_panel = PANEL * (m + RM_LINALG_PADDING);
  const int64_t numbers = of_c * (1 + pairs) + of_u + of_l + of_panel * (2 + pairs) + 5 * longest;
  double *memory = rm_linalg_memory(numbers, sizeof *memory);
  w.x = rm_linalg_memory(2 * k, rm_size_of(a->format));
  w.row = rm_linalg_memory(m, sizeof *w.row);
  int tame = 0;
  if (memory && w.x && w.row) {
    memset(memory, 0, (size_t)numbers * sizeof *memory); /* padding is read */
    w.y = w.x + k * rm_size_of(a->format), w.flags = flags;
    w.c = memory, w.u = w.c + of_c, w.l = w.u + of_u, w.panel = w.l + of_l, w.panel_l = w.panel + of_panel;
    w.of_columns = w.panel_l + of_panel, w.sum_u = w.of_columns + longest, w.of_rows = w.sum_u + longest;
    w.largest_l = w.of_rows + longest, w.size = w.largest_l + longest;
    if (pairs) w.c_low = w.size + longest, w.panel_low = w.c_low + of_c;
    tame = begin_panels(&w, !pivots);
    for (; tame && w.begin < k; w.begin += PANEL) tame = one_panel(&w, w.begin + PANEL < k ? w.begin + PANEL : k, pivots);
    if (tame) write_factors(&w, to, !pivots);
  }
  free(memory), free(w.x), free(w.row);
  return tame;
}
