/* Scatter sums of single elements (one column): a cell of binary64 numbers for every element of out, and no sorting.
 *
 * Formats below binary64: s + e = s' + term exactly, and the sum of |e| bounds the error of s. binary64: as `compensated`
 * in segment.h, whose argument holds for both. The old value is the last term. Elements that this leaves undecided are
 * summed again, from sorted terms. */
#pragma once

#include "segment.h"

enum { RM_CELLS_BLOCK = 512, RM_CELLS_AHEAD = 24 }; /* terms converted at a time; how far ahead cells are prefetched */

/* A cell: the sum, the bound of its error, and for binary64 the sum of errors. One without terms has the bound -0. */
RM_FN void rm_cell_add(double *cell, double x, const int fmt) {
  double e, d;
  cell[0] = rm_two_sum(cell[0], x, &e);
  if (fmt == RM_F64) {
    cell[2 * RM_CELL_GROUP] = rm_two_sum(cell[2 * RM_CELL_GROUP], e, &d);
    cell[RM_CELL_GROUP] += __builtin_fabs(d);
  } else {
    cell[RM_CELL_GROUP] += __builtin_fabs(e);
  }
}

/* Converts `count` elements of src from the i-th on to binary64. */
RM_FN void rm_cells_convert(const rm_scatter_problem *p, int64_t i, int count, const int fmt, double *x) {
  const int size = rm_size_of(fmt);
  const rm_terms src = {p->src.base + i * p->src.row, p->src.row};
  int k = 0;
  if (src.stride == size)
    for (; k + RM_LANES <= count; k += RM_LANES) vf64_store(x + k, rm_load_elements(src.base + k * rm_size_of(fmt), fmt));
  if (k < count) rm_gather_terms(x + k, src, k, count - k, fmt, 0.0);
}

/* Rounds the elements of out from r on, `count` of them in a vector, where that is decided. Returns the lanes that are
 * undecided, and in *used those that have terms. */
RM_FN uint32_t rm_cells_round(const rm_scatter_problem *p, const double *cells, int64_t r, int count, const int fmt,
                              unsigned char *out, uint32_t *used) {
  const double *cell = cells + rm_cell_place(r, RM_CELL_WORDS(fmt));
  const vf64 bound = vf64_load(cell + RM_CELL_GROUP);
  *used = 0;
  for (int i = 0; i < count; i++) *used |= (uint32_t)(rm_bits64(cell[RM_CELL_GROUP + i]) >> 63 ^ 1) << i;
  rm_vpair h = {vf64_load(cell), fmt == RM_F64 ? vf64_load(cell + 2 * RM_CELL_GROUP) : vf64_set1(0.0)};
  vf64 err = vf64_abs(bound);
  if (p->add) {
    const char *at = p->out.base + r * p->out.row;
    const int whole = count == RM_LANES && p->out.row == rm_size_of(fmt);
    const rm_vpair t = rm_vpair_two_sum(h.hi, rm_load_columns(at, p->out.row, count, fmt, whole));
    h.hi = t.hi;
    if (fmt == RM_F64) {
      const rm_vpair u = rm_vpair_two_sum(h.lo, t.lo);
      h.lo = u.hi;
      err = vf64_add(err, vf64_abs(u.lo));
    } else {
      err = vf64_add(err, vf64_abs(t.lo));
    }
  }
  if (fmt == RM_F64) h = rm_vpair_two_sum(h.hi, h.lo);
  return rm_round_sums(h.hi, h.lo, vf64_mul(err, vf64_set1(RM_RUNNING_BOUND)), fmt, out);
}

/* Elements that are undecided are not written, and get the bound RM_CELL_UNDECIDED. Returns how many there are. */
RM_FN int64_t rm_cells_format(const rm_scatter_problem *p, double *cells, const int fmt, rm_tiers *tiers) {
  const int words = RM_CELL_WORDS(fmt), size = rm_size_of(fmt);
  double *cell = cells;
  for (int64_t r = 0; r < p->rows; r += RM_CELL_GROUP, cell += RM_CELL_GROUP * words)
    for (int k = 0; k < RM_CELL_GROUP; k++) {
      cell[k] = 0.0, cell[RM_CELL_GROUP + k] = -0.0;
      if (fmt == RM_F64) cell[2 * RM_CELL_GROUP + k] = 0.0;
    }
  double x[RM_CELLS_BLOCK + RM_CHAINS * RM_LANES]; /* gathering pads */
  for (int64_t i = 0; i < p->n; i += RM_CELLS_BLOCK) {
    const int count = p->n - i < RM_CELLS_BLOCK ? (int)(p->n - i) : RM_CELLS_BLOCK;
    rm_cells_convert(p, i, count, fmt, x);
    int64_t rows[RM_CELLS_BLOCK]; /* known ahead, so that the cells can be on their way */
    for (int k = 0; k < count; k++) __builtin_memcpy(rows + k, p->index + (i + k) * p->stride_index, sizeof *rows);
    for (int k = 0; k < count; k++) {
      const double *later = cells + rm_cell_place(rows[k + RM_CELLS_AHEAD < count ? k + RM_CELLS_AHEAD : count - 1], words);
      for (int w = 0; w < words; w++) __builtin_prefetch(later + w * RM_CELL_GROUP, 1);
      rm_cell_add(cells + rm_cell_place(rows[k], words), x[k], fmt);
    }
  }
  int64_t all_undecided = 0;
  for (int64_t r = 0; r < p->rows; r += RM_LANES) {
    const int count = p->rows - r < RM_LANES ? (int)(p->rows - r) : RM_LANES;
    const uint32_t every = (uint32_t)((UINT64_C(1) << count) - 1);
    unsigned char out[8 * RM_LANES];
    uint32_t used, undecided = rm_cells_round(p, cells, r, count, fmt, out, &used) & every;
    undecided &= used;
    const uint32_t written = (p->add ? used : every) & ~undecided; /* an empty cell rounds to +0 */
    char *at = p->out.base + r * p->out.row;
    if (RM_LIKELY(written == (uint32_t)((UINT64_C(1) << RM_LANES) - 1) && p->out.row == size))
      __builtin_memcpy(at, out, (size_t)(size * RM_LANES));
    else
      for (uint32_t m = written; m; m &= m - 1) {
        const int i = rm_ctz64(m);
        __builtin_memcpy(at + i * p->out.row, out + i * size, (size_t)size);
      }
    tiers->fast += __builtin_popcount(used & ~undecided);
    for (int i = 0; undecided >> i; i++)
      if (undecided >> i & 1) cells[rm_cell_place(r + i, words) + RM_CELL_GROUP] = RM_CELL_UNDECIDED, all_undecided++;
  }
  return all_undecided;
}

#define RM_DEFINE_CELLS(fmt, FMT)                                                              \
  static int64_t rm_cells_##fmt(const rm_scatter_problem *p, double *cells, rm_tiers *tiers) { \
    return rm_cells_format(p, cells, FMT, tiers);                                              \
  }
RM_DEFINE_CELLS(f16, RM_F16)
RM_DEFINE_CELLS(bf16, RM_BF16)
RM_DEFINE_CELLS(f32, RM_F32)
RM_DEFINE_CELLS(f64, RM_F64)
#undef RM_DEFINE_CELLS
