/* Dividing one piece of memory into arrays, and a block into tiles. */
#ifndef RM_BLAS_GEMM_WORKSPACE_H
#define RM_BLAS_GEMM_WORKSPACE_H

#include <stddef.h>

#include "tile.h"

/* Bytes before the first array: up to a 64-byte boundary, or room for that when only the size is asked for (work is NULL). */
static inline size_t rm_carve_start(const char *work) { return work ? (size_t)(-(uintptr_t)work % 64) : 63; }

/* The next array of n bytes; NULL when work is. */
static inline void *rm_carve(char *work, size_t *bytes, size_t n) {
  void *p = work ? work + *bytes : NULL;
  *bytes += (n + 63) / 64 * 64;
  return p;
}

static inline int rm_at_most(int64_t n, int limit) { return n < limit ? (int)n : limit; }

/* Vectors in a row of a tile that may hold up to `width` of the remaining columns. */
static inline int rm_vectors(int64_t remaining, int width) { return (rm_at_most(remaining, width) + RM_LANES - 1) / RM_LANES; }

#endif
