/* Prefetches operands before they are packed.
 *
 * A panel of an operand touches a cache line or two for each of its runs of neighbours. These are far apart, often by a power
 * of two, which no hardware prefetcher follows. So the next panel's runs are prefetched a few at a time while the tiles of
 * the current one are computed. */
#pragma once

#include "views.h"

typedef struct {
  const char *at;
  ptrdiff_t next;      /* bytes from run to run */
  int64_t runs, bytes; /* left, of a run */
} rm_prefetch_runs;

/* Returns the runs of k in [k, k + n) of some rows: none where elements have no neighbours or the operand is an im2col
 * view. */
RM_FN rm_prefetch_runs rm_prefetch_runs_of(const rm_operand *o, int64_t row, int64_t rows, int64_t k, int64_t n, int size) {
  if (o->im2col || n <= 0) return (rm_prefetch_runs){0, 0, 0, 0};
  const char *at = o->base + row * o->row_stride + k * o->k_stride;
  if (o->row_stride == size) return (rm_prefetch_runs){at, o->k_stride, n, rows * size};
  return (rm_prefetch_runs){at, o->row_stride, o->k_stride == size ? rows : 0, n * size};
}

/* Prefetches the next `count` runs into the L1 cache, which has room for a panel of B. Short runs do without a loop, whose
 * end no branch predictor knows. */
RM_FN void rm_prefetch_l1(rm_prefetch_runs *r, int64_t count) {
  enum { LINE = 64 };
  const int64_t bytes = r->bytes, n = count < r->runs ? count : r->runs;
  const char *at = r->at;
  for (int64_t i = 0; i < n; i++, at += r->next) {
    if (bytes <= 2 * LINE) {
      __builtin_prefetch(at);
      __builtin_prefetch(at + bytes / 2);
      __builtin_prefetch(at + bytes - 1);
    } else {
      for (int64_t q = 0; q < bytes; q += LINE) __builtin_prefetch(at + q);
    }
  }
  r->at = at, r->runs -= n;
}

/* Prefetches all runs into the L2 cache. */
RM_FN void rm_prefetch_l2(rm_prefetch_runs r) {
  enum { LINE = 64 };
  for (; r.runs > 0; r.runs--, r.at += r.next)
    for (int64_t q = 0; q < r.bytes; q += LINE) __builtin_prefetch(r.at + q, 0, 2);
}
