/* The workspace of a block of the binary64 engine. */
#pragma once

#include "kernels.h"
#include "pack.h"
#include "output_map.h"
#include "resolve_b64.h"
#include "workspace.h"

struct rm_layout_b64 {
  int64_t row_tiles, col_tiles, kc;
  double *a, *b, *c;            /* packed panels, of B all or one; tiles of partial sums */
  double *chain;                /* of one row, for gemv_b64.h */
  double *row_bound, *col_norm; /* a value for each row or column; row_bound = weighted norm times rm_bound_b64 */
  rm_output_map output;
  rm_vector_facts *rows, *cols;
  uint8_t *flagged;
  char *stage_a, *stage_b; /* for im2col views */
  size_t bytes;
};

static rm_layout_b64 rm_layout_of_b64(const rm_matmul_problem *p, int64_t rows, int64_t cols, char *work) {
  rm_layout_b64 w;
  w.row_tiles = (rows + RM_MR - 1) / RM_MR;
  w.col_tiles = (cols + RM_NR - 1) / RM_NR;
  w.kc = p->k < RM_KC ? p->k : RM_KC;
  w.bytes = rm_bump_start(work);
  size_t r = (size_t)(w.row_tiles * RM_MR), c = (size_t)(w.col_tiles * RM_NR), kc = (size_t)w.kc, *n = &w.bytes;
  w.a = rm_bump_allocate(work, n, r * kc * 8);
  w.b = rm_bump_allocate(work, n, (p->b.im2col ? c : RM_NR) * kc * 8);
  w.c = rm_bump_allocate(work, n, r * c * 8);
  w.chain = rm_bump_allocate(work, n, c * 8);
  w.row_bound = rm_bump_allocate(work, n, r * 8);
  w.col_norm = rm_bump_allocate(work, n, c * 8);
  rm_output_map_allocate(&w.output, work, n, r, c);
  w.rows = rm_bump_allocate(work, n, r * sizeof(rm_vector_facts));
  w.cols = rm_bump_allocate(work, n, c * sizeof(rm_vector_facts));
  w.flagged = rm_bump_allocate(work, n, r * c / RM_LANES);
  w.stage_a = rm_bump_allocate(work, n, rm_stage_bytes(p->a.im2col, RM_MR, rows, w.kc));
  w.stage_b = rm_bump_allocate(work, n, rm_stage_bytes(p->b.im2col, RM_NR, cols, w.kc));
  return w;
}
