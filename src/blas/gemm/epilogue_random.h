/* The rounding of a tile of the binary64 engine under a random mode: each sum is a ball of its bound (epilogue_b64.h), which
 * its word decides (common/rounding_vector.h). The words of all rows of the tile are made together. */
#pragma once

#include "../../common/rounding_vector.h"
#include "kernels.h"
#include "output_map.h"
#include "tile.h"

/* Blocks of a row of NR words that begins anywhere in a block, and those of a tile, as whole vectors. */
enum { RM_ROW_BLOCKS = RM_NR / 4 + 2, RM_TILE_BLOCKS = (RM_MR * RM_ROW_BLOCKS + RM_LANES - 1) / RM_LANES * RM_LANES };

typedef struct {
  int64_t counter[RM_TILE_BLOCKS];
  uint64_t draws[2 * RM_TILE_BLOCKS];
  int start[RM_MR]; /* the word of a row's first element */
  int step;         /* from four words of a row to the next four */
} rm_tile_words;

/* A tile has a row a lane. */
enum { RM_ROWS_ARE_LANES = RM_MR == RM_LANES && RM_LANES % 4 == 0 };

/* The words of a tile of whole vectors of neighbours, each of which begins with a block: the blocks of all rows that begin
 * as far from the beginning of their rows are made by one vector. Returns 0 for other tiles. */
RM_FN int rm_tile_words_whole(rm_tile_words *w, const rm_matmul_problem *p, const rm_output_map *output, int64_t i, int64_t j,
                              int rows, int cols) {
  const int size = rm_size_of(p->out_fmt);
  const ptrdiff_t *row = output->row + i, *col = output->col + j;
  const int nv = (cols + RM_LANES - 1) / RM_LANES;
  const uint64_t element = (uint64_t)rm_random_element(p, output->base), shift = (uint64_t)__builtin_ctz((unsigned)size);
  int64_t base[RM_LANES] = {0};
  uint64_t all = element * (uint64_t)size;
  for (int v = 0; v < nv; v++)
    if (!output->whole[j / RM_LANES + v]) return 0;
  for (int v = 0; v < nv; v++) all |= (uint64_t)col[v * RM_LANES];
  for (int q = 0; q < rows; q++) {
    all |= (uint64_t)row[q];
    base[rm_philox_place(q)] = (int64_t)(RM_ROUNDING_COUNTER + ((element + (uint64_t)(row[q] >> shift)) >> 2));
  }
  if (all & (uint64_t)(4 * size - 1)) return 0;
  const vi64 s0 = vi64_set1((int64_t)p->random.stream), s1 = vi64_srl(s0, 32), first = vi64_load(base);
  uint64_t *to = w->draws;
  for (int v = 0; v < nv; v++, to += 2 * RM_LANES * (RM_LANES / 4)) {
    vi64 at[RM_PHILOX_GROUP];
    for (int h = 0; h < RM_LANES / 4; h++)
      at[h] = vi64_add(first, vi64_set1((int64_t)((col[v * RM_LANES] >> shift) >> 2) + h));
    rm_philox_group(p->random.seed, s0, s1, at, RM_LANES / 4, to);
  }
  for (int q = 0; q < rows; q++) w->start[q] = 4 * q;
  w->step = 4 * RM_LANES;
  return 1;
}

/* The words of the elements of a tile at (i, j) of its block. */
RM_STATIC void rm_tile_words_make(rm_tile_words *w, const rm_matmul_problem *p, const rm_output_map *output, int64_t i,
                                  int64_t j, int rows, int cols) {
  const int size = rm_size_of(p->out_fmt);
  const rm_random_rounding *r = &p->random;
  const ptrdiff_t *col = output->col + j;
  int64_t blocks = 0;
  int apart = 0;
  if (RM_ROWS_ARE_LANES && rm_tile_words_whole(w, p, output, i, j, rows, cols)) return;
  w->step = 4;
  for (int q = 1; q < cols; q++) apart |= col[q] - col[q - 1] != size;
  if (RM_UNLIKELY(apart)) { /* by rows, whose words then lie one after the other */
    char *to = (char *)w->draws;
    for (int q = 0; q < rows; q++, to += 4 * RM_NR) {
      int64_t counter[RM_NR + RM_LANES], last = -1;
      uint64_t draws[2 * (RM_NR + RM_LANES)];
      int word[RM_NR];
      for (int l = blocks = 0; l < cols; l++) {
        const int64_t element = rm_random_element(p, rm_output_at(output, i + q, j + l));
        if (element >> 2 != last)
          last = element >> 2, counter[rm_philox_place(blocks++)] = (int64_t)RM_ROUNDING_COUNTER + last;
        word[l] = (int)(4 * (blocks - 1) + (element & 3));
      }
      for (; blocks % RM_LANES; blocks++) counter[rm_philox_place(blocks)] = 0;
      rm_philox_fill_at(r->seed, r->stream, counter, blocks, draws);
      for (int l = 0; l < cols; l++) __builtin_memcpy(to + 4 * l, (const char *)draws + 4 * word[l], 4);
      w->start[q] = RM_NR * q;
    }
    return;
  }
  for (int q = 0; q < rows; q++) {
    const int64_t element = rm_random_element(p, rm_output_at(output, i + q, j));
    const int skip = (int)(element & 3);
    w->start[q] = (int)(4 * blocks + skip);
    const int64_t at = (int64_t)(RM_ROUNDING_COUNTER + ((uint64_t)element >> 2));
    for (int b = 0; 4 * b < skip + cols; b++) w->counter[rm_philox_place(blocks++)] = at + b;
  }
  for (; blocks % RM_LANES; blocks++) w->counter[rm_philox_place(blocks)] = 0;
  rm_philox_fill_at(r->seed, r->stream, w->counter, blocks, w->draws);
}

/* R of the words of RM_LANES elements, the first of which is `at` elements from the beginning of row i. */
RM_FN vi64 rm_tile_addends(const rm_tile_words *w, int i, int at, const int stochastic, const int out_fmt) {
  const char *from = (const char *)w->draws + 4 * w->start[i];
#if RM_SIMD == RM_SIMD_AVX512
  const vi64 words = vi64_load_u32_halves(from + at * w->step, from + (at + 4) * w->step);
#else
  const vi64 words = rm_words_vector(from + (RM_ROWS_ARE_LANES ? at * w->step : 4 * at));
#endif
  return rm_addends(words, stochastic, 53 - rm_precision(out_fmt));
}
