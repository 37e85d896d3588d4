/* Matrices as views, and whether they share bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
  char *base;
  ptrdiff_t row, col; /* bytes between rows, between columns; of any sign */
} rm_view;

/* An argument as a view. */
static inline rm_view rm_view_of(const void *base, ptrdiff_t row, ptrdiff_t col) {
  const rm_view v = {(char *)(uintptr_t)base, row, col};
  return v;
}

/* Whether two elements of the view share a byte. size: bytes of an element. */
int rm_overlaps_itself(rm_view v, int64_t rows, int64_t cols, int size);

/* Whether c may share bytes with another view; neither is empty. The answer is exact for disjoint ranges and for two blocks
 * of one larger matrix; any other interleaving counts as overlap. */
int rm_overlaps(rm_view c, int64_t rows_c, int64_t cols_c, int size_c, rm_view x, int64_t rows_x, int64_t cols_x, int size_x);

/* How many consecutive steps i of out[i] = f(x[i]) may be taken at once, or in any order, with the results of steps in order:
 * 1 to n, for n > 0. The answer is exact where the strides are equal; with others it is 1 as soon as some multiples of the
 * strides meet. size: bytes of an element. */
int64_t rm_steps_together(int64_t n, const char *out, ptrdiff_t stride_out, const char *x, ptrdiff_t stride_x, int size);

/* An array of any rank, none of its sizes 0. */
typedef struct {
  const char *base;
  int rank;
  const int64_t *size;
  const ptrdiff_t *stride; /* bytes */
} rm_grid;

/* Whether the spans of bytes of two arrays meet: those of interleaved arrays do. size: bytes of an element. */
int rm_spans_meet(const rm_grid *a, int size_a, const rm_grid *b, int size_b);

/* Whether two elements may share bytes. They do not where each axis moves beyond all the shorter ones together. */
int rm_grid_may_overlap_itself(const rm_grid *a, int size);
