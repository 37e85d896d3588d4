#include "approximate.h"

#include <string.h>

#include "kernels.h"

enum {
  LEAST = 8,  /* columns or rows that are not divided further */
  BLOCK = 64, /* columns of an inverse that are found together */
};

static void subtract_product(int64_t m, int64_t n, int64_t k, const double *a, int64_t ld_a, const double *b, int64_t ld_b,
                             double *c, int64_t ld_c) {
  const rm_linalg_product p = {m, n, k, a, ld_a, b, ld_b, 1, c, NULL, ld_c, NULL};
  if (m && n && k) rm_linalg_kernels()->plain(&p);
}

/* Row i of x less what earlier ones or later ones give. */
static void subtract_rows(int64_t i, int64_t from, int64_t to, int64_t k, const double *t, double *x, int64_t ld_x) {
  for (int64_t j = from; j < to; j++)
    if (t[j] != 0.0) rm_linalg_kernels()->subtract_row(x + i * ld_x, x + j * ld_x, t[j], k);
}

/* The first of two parts: whole vectors. */
static int64_t half_of(int64_t n) { return (n / 2 + LEAST - 1) / LEAST * LEAST; }

/* Columns first to last, below row `first`. */
static int factor_panel(int64_t n, int64_t first, int64_t last, double *a, int64_t *place, int *odd) {
  for (int64_t j = first; j < last; j++) {
    int64_t p = j;
    for (int64_t i = j + 1; i < n; i++)
      if (__builtin_fabs(a[i * n + j]) > __builtin_fabs(a[p * n + j])) p = i;
    if (p != j) {
      for (int64_t c = 0; c < n; c++) {
        const double x = a[j * n + c];
        a[j * n + c] = a[p * n + c], a[p * n + c] = x;
      }
      const int64_t row = place[j];
      place[j] = place[p], place[p] = row;
      *odd ^= 1;
    }
    const double pivot = a[j * n + j];
    if (!(pivot != 0.0 && rm_is_finite(pivot))) return 0;
    for (int64_t i = j + 1; i < n; i++) {
      const double factor = a[i * n + j] / pivot;
      a[i * n + j] = factor;
      for (int64_t c = j + 1; c < last; c++) a[i * n + c] -= factor * a[j * n + c];
    }
  }
  return 1;
}

/* The same by halves, so that most of the work is products. */
static int factor_columns(int64_t n, int64_t first, int64_t last, double *a, int64_t *place, int *odd) {
  if (last - first <= LEAST) return factor_panel(n, first, last, a, place, odd);
  const int64_t mid = first + half_of(last - first);
  if (!factor_columns(n, first, mid, a, place, odd)) return 0;
  rm_approximate_lower(mid - first, last - mid, a + first * n + first, n, 1, a + first * n + mid, n);
  subtract_product(n - mid, last - mid, mid - first, a + mid * n + first, n, a + first * n + mid, n, a + mid * n + mid, n);
  return factor_columns(n, mid, last, a, place, odd);
}

int rm_approximate_lu(int64_t n, double *a, int64_t *place, int *odd) {
  for (int64_t i = 0; i < n; i++) place[i] = i;
  *odd = 0;
  return factor_columns(n, 0, n, a, place, odd);
}

void rm_approximate_lower(int64_t n, int64_t k, const double *t, int64_t ld_t, int unit, double *x, int64_t ld_x) {
  if (n > LEAST) {
    const int64_t half = half_of(n);
    rm_approximate_lower(half, k, t, ld_t, unit, x, ld_x);
    subtract_product(n - half, k, half, t + half * ld_t, ld_t, x, ld_x, x + half * ld_x, ld_x);
    rm_approximate_lower(n - half, k, t + half * ld_t + half, ld_t, unit, x + half * ld_x, ld_x);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    subtract_rows(i, 0, i, k, t + i * ld_t, x, ld_x);
    if (!unit)
      for (int64_t c = 0; c < k; c++) x[i * ld_x + c] /= t[i * ld_t + i];
  }
}

void rm_approximate_upper(int64_t n, int64_t k, const double *t, int64_t ld_t, double *x, int64_t ld_x) {
  if (n > LEAST) {
    const int64_t half = half_of(n);
    rm_approximate_upper(n - half, k, t + half * ld_t + half, ld_t, x + half * ld_x, ld_x);
    subtract_product(half, k, n - half, t + half, ld_t, x + half * ld_x, ld_x, x, ld_x);
    rm_approximate_upper(half, k, t, ld_t, x, ld_x);
    return;
  }
  for (int64_t i = n; i-- > 0;) {
    subtract_rows(i, i + 1, n, k, t + i * ld_t, x, ld_x);
    for (int64_t c = 0; c < k; c++) x[i * ld_x + c] /= t[i * ld_t + i];
  }
}

static void set_identity(int64_t n, double *x) {
  memset(x, 0, (size_t)(n * n) * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i * n + i] = 1.0;
}

void rm_approximate_lower_inverse(int64_t n, const double *t, int unit, double *x) {
  set_identity(n, x);
  for (int64_t j = 0; j < n; j += BLOCK) /* above row j these columns are 0 */
    rm_approximate_lower(n - j, n - j < BLOCK ? n - j : BLOCK, t + j * n + j, n, unit, x + j * n + j, n);
}

void rm_approximate_upper_inverse(int64_t n, const double *t, double *x) {
  set_identity(n, x);
  for (int64_t j = 0; j < n; j += BLOCK) { /* below their last row these columns are 0 */
    const int64_t columns = n - j < BLOCK ? n - j : BLOCK;
    rm_approximate_upper(j + columns, columns, t, n, x + j, n);
  }
}
