/* Operands fetched before they are packed.
 *
 * A panel of an operand touches a line or two of memory for each of its runs of neighbours, far apart, often a power of two: no prefetcher
 * of the hardware follows. So the next panel's runs are fetched a few at a time while the tiles of the one before it are computed. */
#ifndef RM_BLAS_GEMM_PREFETCH_H
#define RM_BLAS_GEMM_PREFETCH_H

#include "views.h"

typedef struct {
  const char *at;
  ptrdiff_t next;      /* bytes from run to run */
  int64_t runs, bytes; /* left, of a run */
} rm_fetches;

/* Terms [k, k + n) of some lines; no runs where elements have no neighbours or are found by coordinates. */
RM_FN rm_fetches rm_fetches_of(const rm_operand *o, int64_t line, int64_t lines, int64_t k, int64_t n, int size) {
  if (o->patches || n <= 0) return (rm_fetches){0, 0, 0, 0};
  const char *at = o->base + line * o->line + k * o->step;
  if (o->line == size) return (rm_fetches){at, o->step, n, lines * size};
  return (rm_fetches){at, o->line, o->step == size ? lines : 0, n * size};
}

/* `share` runs more, into the L1 cache, which has room for a panel of B. Short ones without a loop, whose end no branch predictor knows. */
RM_FN void rm_fetch_near(rm_fetches *r, int64_t share) {
  enum { LINE = 64 };
  const int64_t bytes = r->bytes, n = share < r->runs ? share : r->runs;
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

/* All runs, into the L2 cache. */
RM_FN void rm_fetch_far(rm_fetches r) {
  enum { LINE = 64 };
  for (; r.runs > 0; r.runs--, r.at += r.next)
    for (int64_t q = 0; q < r.bytes; q += LINE) __builtin_prefetch(r.at + q, 0, 2);
}

#endif
