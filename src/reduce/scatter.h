/* Sums of rows into the rows of out that an index names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/config.h"
#include "../common/overlap.h"
#include "../common/stats.h"

typedef struct {
  int format, add; /* add: the old value is one more term */
  int again; /* these elements have been tried in cells */
  int64_t rows, cols, n;
  rm_view out, src;
  const char *index;
  ptrdiff_t stride_index;
} rm_scatter_problem;

RM_FN int64_t rm_scatter_index(const rm_scatter_problem *p, int64_t i) {
  int64_t v;
  __builtin_memcpy(&v, p->index + i * p->stride_index, sizeof v);
  return v;
}

/* The contributions to one row of out, which has one or more. */
typedef struct {
  int64_t row, n;
  const int64_t *terms, *all; /* rows of src; the end of those of all segments */
} rm_segment;

/* Columns [begin, end) of one row of out. Returns RM_FLAG_* bits; adds to *tiers. */
typedef uint32_t rm_scatter_segment_fn(const rm_scatter_problem *p, const rm_segment *s, int64_t begin, int64_t end,
                                       rm_tiers *tiers);

/* out of one column: the elements that are decided, and in a segment sum those without terms. cells: RM_CELL_WORDS numbers
 * for each row, in groups of RM_CELL_GROUP rows: the first numbers of all, so that they are loaded as vectors, then the
 * second ones, and the third. Elements that are not decided are not written, and get RM_CELL_UNDECIDED as the second number
 * of their cell. Returns how many. */
typedef int64_t rm_scatter_cells_fn(const rm_scatter_problem *p, double *cells, rm_tiers *tiers);
#define RM_CELL_UNDECIDED (-1.0)
#define RM_CELL_WORDS(format) ((format) == RM_F64 ? 3 : 2)
enum { RM_CELL_GROUP = 8 };

/* The first number of a row's cell; the next one is RM_CELL_GROUP numbers behind it. */
RM_FN int64_t rm_cell_place(int64_t row, int words) {
  return row / RM_CELL_GROUP * (RM_CELL_GROUP * words) + row % RM_CELL_GROUP;
}

/* The last tier: the bits of one element of out, by the superaccumulator. out is not written. */
RM_HOST_EXTERN uint64_t rm_scatter_exactly(const rm_scatter_problem *p, const rm_segment *s, int64_t col, uint32_t *flags);
