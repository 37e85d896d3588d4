/* Rows of 16-bit operands whose k are neighbours in memory: where they lie, or copies. */
#pragma once

#include "../../../crlibm/simd/bytes.h"
#include "../conv/im2col_view.h"
#include "panels.h"

/* k that are prefetched: rows of a matrix are far apart, and no prefetcher follows. */
enum { RM_VALUES_AHEAD = 32 };

typedef struct {
  const char *base;
  ptrdiff_t stride;
} rm_values;

/* Copies up to 32 rows that are neighbours in memory so that their k are. */
static inline void rm_transpose_values(char *to, ptrdiff_t stride, rm_strided src, int rows, int64_t k) {
  enum { SOME = 32, BYTES = 1024 }; /* k at a time; 16 of them of 32 rows */
  char part[2 * BYTES] __attribute__((aligned(64)));
  for (int64_t q = 0; q < k; q += SOME) {
    const int here = k - q < SOME ? (int)(k - q) : SOME;
    for (int i = 0; i < SOME; i += 2) {
      const char *at = src.base + (q + i) * src.k_stride;
      __builtin_prefetch(at + RM_VALUES_AHEAD * src.k_stride);
      __builtin_prefetch(at + (RM_VALUES_AHEAD + 1) * src.k_stride);
      char *const row = part + 32 * i;
      vbytes x = vbytes_zero(), y = vbytes_zero(), low, high;
      if (i < here) x = vbytes_load_16(at, rows);
      if (i + 1 < here) y = vbytes_load_16(at + src.k_stride, rows);
      vbytes_pairs(x, y, &low, &high);
      vbytes_store(row, low);
      vbytes_store(row + BYTES, high);
    }
    vbytes_transpose(to + 2 * q, stride, part, 64);
    vbytes_transpose(to + 2 * q + 16 * stride, stride, part + BYTES, 64);
  }
}

/* The values of up to 32 rows. Copies go to `copy`, `apart` bytes from one another, and lie on the way, where an image's rows
 * are neighbours, in `stage`: both have room for them. */
static inline rm_values rm_values_of(const rm_operand *o, int64_t row, int rows, int64_t k, char *copy, ptrdiff_t apart,
                                     char *stage) {
  if (o->im2col && o->im2col->rows_adjacent) {
    rm_im2col_fill(o->im2col, o->base, 2, 1, row, rows, 0, k, stage);
    rm_transpose_values(copy, apart, (rm_strided){stage, 2, 2 * rows}, rows, k);
    return (rm_values){copy, apart};
  }
  if (o->im2col) {
    rm_im2col_fill(o->im2col, o->base, 2, 0, row, rows, 0, k, copy);
    return (rm_values){copy, (ptrdiff_t)(2 * k)};
  }
  const rm_strided src = {o->base + row * o->row_stride, o->row_stride, o->k_stride};
  if (src.k_stride == 2) return (rm_values){src.base, src.row_stride};
  if (src.row_stride == 2) {
    rm_transpose_values(copy, apart, src, rows, k);
  } else {
    for (int r = 0; r < rows; r++)
      for (int64_t q = 0; q < k; q++)
        __builtin_memcpy(copy + r * apart + 2 * q, src.base + r * src.row_stride + q * src.k_stride, 2);
  }
  return (rm_values){copy, apart};
}
