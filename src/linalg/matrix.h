/* What the files of this module share: matrices of the caller, loops over a batch, lowest bits of numbers. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../../include/repmath/linalg.h"
#include "../common/elements.h"
#include "../runtime/threads.h"

/* A batch of matrices in the caller's memory: distances in bytes, of any sign. */
typedef struct {
  int format;
  const char *base;
  ptrdiff_t next, row, col;
} rm_batch;

static inline const char *rm_batch_at(const rm_batch *a, int64_t t, int64_t i, int64_t j) {
  return a->base + t * a->next + i * a->row + j * a->col;
}
static inline double rm_batch_number(const rm_batch *a, int64_t t, int64_t i, int64_t j) {
  return rm_read_element(rm_batch_at(a, t, i, j), a->format);
}

/* `count` numbers of row i, from column j on. Whether all are finite. */
static inline int rm_read_row(const rm_batch *a, int64_t t, int64_t i, int64_t j, int64_t count, double *to) {
  const char *from = rm_batch_at(a, t, i, j);
  double none = 0.0; /* of numbers; NaN where one is not finite */
  if (a->format == RM_F64 && a->col == 8) memcpy(to, from, (size_t)count * sizeof *to);
  else if (a->format == RM_F32)
    for (int64_t c = 0; c < count; c++) to[c] = rm_read_element(from + c * a->col, RM_F32);
  else
    for (int64_t c = 0; c < count; c++) to[c] = rm_read_element(from + c * a->col, a->format);
  for (int64_t c = 0; c < count; c++) none += to[c] * 0.0;
  return none == 0.0;
}

/* Memory for count elements; at least one byte, so that NULL means that there is none. NULL where the size is out of
 * range. */
static inline void *rm_linalg_memory(int64_t count, int64_t size) {
  return count < 0 || count > INT64_MAX / 2 / size ? NULL : malloc((size_t)(count * size) + 1);
}

/* Computes matrix t of a batch; RM_ERR_MEMORY, RM_ERR_UNDECIDED or RM_OK. */
typedef rm_status rm_batch_fn(void *context, int64_t t, uint32_t *flags);

/* Calls `one` for each matrix, threads taking turns where there is much work; `work` counts multiplications of one matrix. */
rm_status rm_for_batch(int64_t batch, double work, rm_batch_fn *one, void *context, uint32_t *flags);

/* x = (-1)^negative m 2^e with m odd, for finite x != 0: the lowest bit of x counts 2^e. */
static inline uint64_t rm_odd_part(double x, int *e) {
  const uint64_t m = rm_decompose(x, e);
  const int zeros = rm_ctz64(m);
  *e += zeros;
  return m >> zeros;
}
/* floor(log2 |x|), for finite x != 0. */
static inline int rm_exponent_of(double x) {
  int e;
  rm_decompose(x, &e);
  return e + 52;
}
/* x 2^k, exact where the value is a normal number. */
static inline double rm_scaled(double x, int k) {
  for (; k > 1000; k -= 1000) x *= rm_pow2(1000);
  for (; k < -1000; k += 1000) x *= rm_pow2(-1000);
  return x * rm_pow2(k);
}

/* The sum of |a_i b_i|: of n + 8 additions and a rounding of each term, whatever their order. */
static inline double rm_sum_of_magnitudes(int64_t n, const double *a, const double *b) {
  enum { PARTS = 8 }; /* sums beside each other */
  double part[PARTS] = {0.0}, sum = 0.0;
  int64_t i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (int c = 0; c < PARTS; c++) part[c] += __builtin_fabs(a[i + c] * b[i + c]);
  for (; i < n; i++) sum += __builtin_fabs(a[i] * b[i]);
  for (int c = 0; c < PARTS; c++) sum += part[c];
  return sum;
}
