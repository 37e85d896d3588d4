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

/* Scales a copy of `from`, which is n x n, finite; the memory is the caller's. */
static inline void rm_scale_matrix(rm_scaled_matrix *s, const double *from) {
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
