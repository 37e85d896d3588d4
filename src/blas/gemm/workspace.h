/* A bump allocator for the arrays of a workspace, and the division of a block into tiles. */
#pragma once

#include <stddef.h>

#include "tile.h"

/* Returns the bytes before the first array: up to a 64-byte boundary, or room for that when only the size is asked for (work
 * is NULL). */
static inline size_t rm_bump_start(const char *work) { return work ? (size_t)(-(uintptr_t)work % 64) : 63; }

/* Returns the next array of n bytes; NULL when work is NULL, where only sizes are added up. */
static inline void *rm_bump_allocate(char *work, size_t *bytes, size_t n) {
  void *p = work ? work + *bytes : NULL;
  *bytes += (n + 63) / 64 * 64;
  return p;
}

static inline int rm_min_int(int64_t n, int limit) { return n < limit ? (int)n : limit; }

/* Vectors in a row of a tile that may hold up to `width` of the remaining columns. */
static inline int rm_vectors(int64_t remaining, int width) {
  return (rm_min_int(remaining, width) + RM_LANES - 1) / RM_LANES;
}
