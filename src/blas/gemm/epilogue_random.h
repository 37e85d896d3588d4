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
} rm_tile_words;

/* The words of rows of `cols` elements, the first from `element` on, `next` elements apart. */
RM_STATIC void rm_tile_words_make(rm_tile_words *w, const rm_random_rounding *r, int64_t element, int64_t next, int rows,
                                  int cols) {
  int64_t blocks = 0;
  for (int i = 0; i < rows; i++, element += next) {
    const int skip = (int)(element & 3);
    w->start[i] = (int)(4 * blocks + skip);
    const int64_t at = (int64_t)(RM_ROUNDING_COUNTER + ((uint64_t)element >> 2));
    for (int b = 0; 4 * b < skip + cols; b++) w->counter[rm_philox_place(blocks++)] = at + b;
  }
  for (; blocks % RM_LANES; blocks++) w->counter[rm_philox_place(blocks)] = 0;
  rm_philox_fill_at(r->seed, r->stream, w->counter, blocks, w->draws);
}

/* R of the words of RM_LANES elements, the first of which is `at` elements from the beginning of row i. */
RM_FN vi64 rm_tile_addends(const rm_tile_words *w, int i, int at, const int stochastic, const int out_fmt) {
  const char *from = (const char *)w->draws + 4 * (w->start[i] + at);
  uint32_t word[RM_LANES];
  int64_t add[RM_LANES];
  __builtin_memcpy(word, from, sizeof word);
  for (int l = 0; l < RM_LANES; l++) add[l] = (int64_t)rm_addend(word[l], stochastic, 53 - rm_precision(out_fmt));
  return vi64_load(add);
}
