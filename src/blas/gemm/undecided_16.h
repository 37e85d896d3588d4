/* Elements of products of 16-bit numbers that an engine's own sums leave undecided: dot products in binary64, of values
 * that are neighbours in memory. */
#pragma once

#include "bound_b64.h"
#include "epilogue_b64.h"
#include "layout_b64.h"
#include "tiles_dot.h"
#include "values_16.h"

/* The limit of the numbers that the test rounds: what may overflow raises a flag. */
RM_FN double rm_max_tested_16(const int fmt) { return fmt == RM_F16 ? 0x1p15 : 0x1p126; }

/* A piece of a block: `rows` rows from (i, j) on. Of its rows the norms are given, of all columns w has them. */
typedef struct {
  const rm_layout_b64 *w;
  const rm_matmul_problem *p;
  const rm_block *block;
  int64_t i, j;
  int rows;
  const double *row_norm;
} rm_piece_16;

/* Sums again what is undecided in a piece. What is left goes to the binary64 engine's resolver; returns how much. */
RM_FN int rm_sum_undecided_16(const rm_piece_16 *s, rm_values a, rm_values b, const uint64_t *undecided, const int fmt) {
  const rm_layout_b64 *w = s->w;
  const rm_matmul_problem *p = s->p;
  const double bound = rm_bound_b64(p->k);
  int left = 0;
  for (int i = 0; i < s->rows; i++) {
    for (uint64_t lanes = undecided[i]; lanes; lanes &= lanes - 1) {
      const int j = __builtin_ctzll(lanes);
      const int64_t row = s->i + i, col = s->j + j;
      const double c = rm_tiles_dot(a.base + i * a.stride, b.base + j * b.stride, p->k, fmt);
      double sum = c, err = bound * (s->row_norm[i] * w->col_norm[col]);
      if (p->bias.base) {
        const double d =
            rm_read_element(p->bias.base + (s->block->row + row) * p->bias.row + (s->block->col + col) * p->bias.col, fmt);
        sum += d, err += bound * __builtin_fabs(d);
      }
      const double e = __builtin_fabs(sum) * 0x1p-52 + err;
      if (__builtin_fabs(sum) + e <= rm_max_tested_16(fmt)) {
        const uint64_t bits = rm_round_double(sum - e, fmt);
        if (bits == rm_round_double(sum + e, fmt)) {
          rm_write_bits(rm_output_at(&w->output, row, col), bits, fmt);
          continue;
        }
      }
      const int64_t tile = col / RM_NR * w->row_tiles + row / RM_MR;
      const int nv = rm_vectors(s->block->cols - col / RM_NR * RM_NR, RM_NR);
      const int64_t vector = row % RM_MR * nv + col % RM_NR / RM_LANES;
      w->c[tile * RM_TILE + vector * RM_LANES + col % RM_LANES] = c;
      w->flagged[tile * (RM_TILE / RM_LANES) + vector] |= (uint8_t)(1u << col % RM_LANES);
      left++;
    }
  }
  return left;
}
