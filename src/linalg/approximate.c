#include "approximate.h"

#include "kernels.h"

enum { BLOCK = 32 };

/* Row i of x -= factor times row j. */
static void subtract_row(double *to, const double *from, double factor, int64_t count) {
  for (int64_t j = 0; j < count; j++) to[j] -= factor * from[j];
}

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
      if (factor != 0.0) subtract_row(a + i * n + j + 1, a + j * n + j + 1, factor, last - j - 1);
    }
  }
  return 1;
}

int rm_approximate_lu(int64_t n, double *a, int64_t *place, int *odd) {
  for (int64_t i = 0; i < n; i++) place[i] = i;
  *odd = 0;
  for (int64_t first = 0; first < n; first += BLOCK) {
    const int64_t last = first + BLOCK < n ? first + BLOCK : n, rest = n - last;
    if (!factor_panel(n, first, last, a, place, odd)) return 0;
    for (int64_t i = first + 1; i < last; i++)
      for (int64_t j = first; j < i; j++) subtract_row(a + i * n + last, a + j * n + last, a[i * n + j], rest);
    const rm_linalg_product update = {
        rest, rest, last - first, a + last * n + first, n, a + first * n + last, n, 1, a + last * n + last, NULL, n, NULL};
    if (rest) rm_linalg_kernels()->plain(&update);
  }
  return 1;
}

void rm_approximate_lower(int64_t n, int64_t k, const double *t, int unit, double *x) {
  for (int64_t first = 0; first < n; first += BLOCK) {
    const int64_t last = first + BLOCK < n ? first + BLOCK : n;
    const rm_linalg_product update = {last - first, k, first, t + first * n, n, x, k, 1, x + first * k, NULL, k, NULL};
    rm_linalg_kernels()->plain(&update);
    for (int64_t i = first; i < last; i++) {
      for (int64_t j = first; j < i; j++)
        if (t[i * n + j] != 0.0) subtract_row(x + i * k, x + j * k, t[i * n + j], k);
      if (!unit)
        for (int64_t c = 0; c < k; c++) x[i * k + c] /= t[i * n + i];
    }
  }
}

void rm_approximate_upper(int64_t n, int64_t k, const double *t, int unit, double *x) {
  for (int64_t last = n; last > 0; last = (last - 1) / BLOCK * BLOCK) {
    const int64_t first = (last - 1) / BLOCK * BLOCK;
    const rm_linalg_product update = {last - first, k, n - last, t + first * n + last, n, x + last * k, k, 1, x + first * k,
                                      NULL,         k, NULL};
    rm_linalg_kernels()->plain(&update);
    for (int64_t i = last; i-- > first;) {
      for (int64_t j = i + 1; j < last; j++)
        if (t[i * n + j] != 0.0) subtract_row(x + i * k, x + j * k, t[i * n + j], k);
      if (!unit)
        for (int64_t c = 0; c < k; c++) x[i * k + c] /= t[i * n + i];
    }
  }
}
