/* A finite matrix with rows and columns scaled by powers of two to about 1, exactly. */
#pragma once

#include "matrix.h"

typedef struct {
  int64_t n;
  double *a;      /* n x n: A_ij 2^(row[i] + col[j]) */
  int *row, *col;
  int exact;      /* whether all entries that are not 0 are at least 2^RM_LINALG_LEAST */
} rm_scaled_matrix;

enum { RM_LINALG_LEAST = -300 };

/* By exponents one by one, whatever they are. */
static inline void rm_scale_matrix_widely(rm_scaled_matrix *s, const double *from) {
  const int64_t n = s->n;
  enum { NONE = -100000 };
  s->exact = 1;
  for (int64_t i = 0; i < n; i++) {
    int top = NONE;
    for (int64_t j = 0; j < n; j++)
      if (from[i * n + j] != 0.0) {
        const int e = rm_exponent_of(from[i * n + j]);
        top = e > top ? e : top;
      }
    s->row[i] = top == NONE ? 0 : -top;
  }
  for (int64_t j = 0; j < n; j++) {
    int top = NONE;
    for (int64_t i = 0; i < n; i++)
      if (from[i * n + j] != 0.0) {
        const int e = rm_exponent_of(from[i * n + j]) + s->row[i];
        top = e > top ? e : top;
      }
    s->col[j] = top == NONE ? 0 : -top;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const double x = from[i * n + j];
      const int shift = s->row[i] + s->col[j];
      if (x != 0.0 && rm_exponent_of(x) + shift < RM_LINALG_LEAST) s->exact = 0;
      s->a[i * n + j] = x == 0.0 ? 0.0 : rm_scaled(x, shift);
    }
}

/* The same by products with powers of two, which are exact, and strips of columns: where the largest numbers of rows are not
 * extreme and no number is small beside them, which it returns. */
static inline int rm_scale_matrix_quickly(rm_scaled_matrix *s, const double *from) {
  const int64_t n = s->n;
  enum { STRIP = 64 };
  s->exact = 1;
  for (int64_t i = 0; i < n; i++) {
    double most = 0.0;
    for (int64_t j = 0; j < n; j++) {
      const double size = __builtin_fabs(from[i * n + j]);
      most = size > most ? size : most;
    }
    s->row[i] = most == 0.0 ? 0 : -rm_exponent_of(most);
    if (s->row[i] < -900 || s->row[i] > 900) return 0;
  }
  for (int64_t first = 0; first < n; first += STRIP) {
    const int64_t count = n - first < STRIP ? n - first : STRIP;
    double most[STRIP] = {0.0}, least = 1.0, by[STRIP];
    for (int64_t i = 0; i < n; i++) {
      const double row = rm_pow2(s->row[i]), *const x = from + i * n + first;
      double *const to = s->a + i * n + first;
      for (int64_t c = 0; c < count; c++) {
        const double y = x[c] * row, size = __builtin_fabs(y), size_or_one = x[c] != 0.0 ? size : 1.0;
        to[c] = y;
        most[c] = size > most[c] ? size : most[c];
        least = size_or_one < least ? size_or_one : least;
      }
    }
    if (!(least > 0x1p-700)) return 0;
    for (int64_t c = 0; c < count; c++) {
      s->col[first + c] = most[c] == 0.0 ? 0 : -rm_exponent_of(most[c]);
      by[c] = rm_pow2(s->col[first + c]);
    }
    least = 1.0;
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < count; c++) {
        double *const to = s->a + i * n + first + c;
        const double y = *to * by[c], size = y != 0.0 ? __builtin_fabs(y) : 1.0;
        *to = y;
        least = size < least ? size : least;
      }
    if (least < rm_pow2(RM_LINALG_LEAST)) s->exact = 0;
  }
  return 1;
}

/* Scales a copy of `from`, which is n x n, finite; the memory is the caller's. */
static inline void rm_scale_matrix(rm_scaled_matrix *s, const double *from) {
  if (!rm_scale_matrix_quickly(s, from)) rm_scale_matrix_widely(s, from);
}
