/* Operands fetched before they are packed.
 *
 * A panel of an operand touches a line or two of memory for each of its runs of neighbours, far apart, often a power of two: no prefetcher
 * of the hardware follows. So the next panel's runs are fetched a few at a time while the tiles of the one before it are computed. */
#ifndef RM_BLAS_FETCH_H
#define RM_BLAS_FETCH_H

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

/* `share` runs more; near: into the L1 cache, which has room for a panel of B, else into the L2 cache. */
RM_FN void rm_fetch_some(rm_fetches *r, int64_t share, const int near) {
  enum { LINE = 64 };
  for (; share > 0 && r->runs > 0; share--, r->runs--, r->at += r->next)
    for (const char *line = r->at - (uintptr_t)r->at % LINE; line < r->at + r->bytes; line += LINE) {
      if (near) __builtin_prefetch(line, 0, 3);
      else __builtin_prefetch(line, 0, 2);
    }
}

#endif
