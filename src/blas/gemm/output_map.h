/* The output map of a block of C, which says where its elements lie, and the bias that is added to them. */
#pragma once

#include "../../common/elements.h"
#include "kernels.h"
#include "../conv/im2col_view.h"
#include "tile.h"
#include "workspace.h"

typedef struct {
  char *base;
  ptrdiff_t *row, *col; /* element (i, j) of the block is at base + row[i] + col[j] */
  uint8_t *whole;       /* whether vector v of columns is whole, and its elements neighbours */
} rm_output_map;

/* Takes room for a block padded to rows x cols. */
RM_FN void rm_output_map_allocate(rm_output_map *w, char *work, size_t *bytes, size_t rows, size_t cols) {
  w->row = (ptrdiff_t *)rm_bump_allocate(work, bytes, rows * sizeof *w->row);
  w->col = (ptrdiff_t *)rm_bump_allocate(work, bytes, cols * sizeof *w->col);
  w->whole = (uint8_t *)rm_bump_allocate(work, bytes, cols / RM_LANES);
}

RM_FN void rm_offsets(const rm_axis *axis, ptrdiff_t stride, int64_t first, int64_t n, ptrdiff_t *at) {
  if (axis) {
    rm_axis_offsets(axis, first, n, at);
    return;
  }
  for (int64_t i = 0; i < n; i++) at[i] = (first + i) * stride;
}

RM_FN void rm_output_map_fill(rm_output_map *w, const rm_target *c, const rm_block *block, int size) {
  w->base = c->base;
  rm_offsets(c->rows, c->row, block->row, block->rows, w->row);
  rm_offsets(c->cols, c->col, block->col, block->cols, w->col);
  for (int64_t j = 0; j < block->cols; j += RM_LANES) {
    int whole = j + RM_LANES <= block->cols;
    for (int l = 1; whole && l < RM_LANES; l++) whole = w->col[j + l] - w->col[j + l - 1] == size;
    w->whole[j / RM_LANES] = (uint8_t)whole;
  }
}

RM_FN char *rm_output_at(const rm_output_map *w, int64_t i, int64_t j) { return w->base + w->row[i] + w->col[j]; }
/* Prefetches the ends of the rows of rows x cols neighbours that are about to be written. */
RM_FN void rm_prefetch_output(const rm_output_map *w, int64_t i, int rows, int64_t j, int cols, int size) {
  for (int q = 0; q < rows; q++) {
    __builtin_prefetch(rm_output_at(w, i + q, j), 1);
    __builtin_prefetch(rm_output_at(w, i + q, j + cols - 1) + size - 1, 1);
  }
}

/* Returns the bias of elements (i, j), ..., (i, j + lanes - 1) of C; 0 in other lanes. */
RM_FN vf64 rm_load_bias(const rm_view *bias, int64_t i, int64_t j, int lanes, const int fmt) {
  const char *at = bias->base + i * bias->row + j * bias->col;
  if (bias->col == 0) return vf64_set1(rm_read_element(at, fmt));
  if (bias->col == rm_size_of(fmt) && lanes == RM_LANES) return rm_load_elements(at, fmt);
  double e[RM_LANES] = {0};
  for (int l = 0; l < lanes; l++) e[l] = rm_read_element(at + l * bias->col, fmt);
  return vf64_load(e);
}
