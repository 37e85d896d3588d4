/* Sums of the binary64 engine that are not rounded, since they are parts of larger ones (partials.c).
 *
 * A part gives its sums and the squares of the two factors of their bound (bound_b64.h). What is not finite needs no bound:
 * binary64 cannot overflow here, so joined sums are NaN or infinite where terms make them so. But padding, a zero beside an
 * infinity, adds no product: such a sum is computed exactly, and rounded to binary64. Its row's or its column's square is
 * infinite or NaN, so that it stays open where it is finite. */
#pragma once

#include "epilogue_b64.h"
#include "layout_b64.h"
#include "exact.h"

/* Stores a tile of sums. No element is left for the resolver. */
RM_COLD int rm_store_tile_b64(const rm_epilogue_b64 *e, const rm_tile_b64 *t) {
  const rm_matmul_problem *p = e->p;
  const int padding = (p->a.im2col && rm_im2col_may_pad(p->a.im2col)) || (p->b.im2col && rm_im2col_may_pad(p->b.im2col));
  if (!padding) {
    const ptrdiff_t *const col = e->output.col + t->j;
    for (int i = 0; i < t->rows; i++) {
      const double *const sums = t->sums + i * t->nv * RM_LANES;
      char *const to = e->output.base + e->output.row[t->i + i];
      for (int j = 0; j < t->cols; j++) __builtin_memcpy(to + col[j], sums + j, sizeof *sums);
    }
    return 0;
  }
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->cols; j++) {
      const int64_t row = t->i + i, col = t->j + j;
      uint64_t bits = rm_bits64(t->sums[i * t->nv * RM_LANES + j]);
      uint32_t flags = 0;
      if (RM_UNLIKELY(padding && rm_is_nan(rm_from_bits64(bits))) &&
          !rm_special_element(p, e->block->row + row, e->block->col + col, RM_ACC_ANY, RM_ACC_ANY, &bits, &flags))
        bits = rm_exact_element(p, e->block->row + row, e->block->col + col, &flags);
      rm_write_bits(rm_output_at(&e->output, row, col), bits, RM_F64);
    }
  return 0;
}

/* Stores the squares, once for all blocks of a row or column; returns the flags of the block. */
RM_COLD uint32_t rm_store_bounds_b64(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block) {
  const rm_partial_bounds *to = &p->partial;
  if (block->col == 0)
    for (int64_t i = 0; i < block->rows; i++) to->rows[block->row + i] = w->row_bound[i] * w->row_bound[i];
  if (block->row == 0)
    for (int64_t j = 0; j < block->cols; j++) to->cols[block->col + j] = w->col_norm[j] * w->col_norm[j];
  return 0;
}
