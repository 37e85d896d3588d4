/* The binary32 matmul engine over one block of C: pack, multiply in binary64, test and round, resolve what is open.
 *
 * The block is cut into tiles of MR x NR, in the order of the loops below; k is cut into pieces of KC. Partial sums stay in
 * the workspace in binary64. */
#ifndef RM_BLAS_GEMM_F32_H
#define RM_BLAS_GEMM_F32_H

#include "epilogue_f32.h"
#include "gemm_dd.h"
#include "kernels.h"
#include "micro_f32.h"
#include "resolve_f32.h"
#include "workspace.h"

typedef struct {
  int64_t row_tiles, col_tiles, kc;
  double *a, *b, *c;                           /* packed panels; tiles of partial sums */
  double *row_bound, *col_norm, *bias, *err_bias; /* a value for each line; row_bound = norm times rm_bound_f32 */
  rm_line *rows, *cols;
  uint8_t *flagged;
  size_t bytes;
} rm_layout_f32;

static rm_layout_f32 rm_layout_of_f32(int64_t rows, int64_t cols, int64_t k, char *work) {
  rm_layout_f32 w;
  w.row_tiles = (rows + RM_MR - 1) / RM_MR;
  w.col_tiles = (cols + RM_NR - 1) / RM_NR;
  w.kc = k < RM_KC ? k : RM_KC;
  w.bytes = rm_carve_start(work);
  size_t r = (size_t)(w.row_tiles * RM_MR), c = (size_t)(w.col_tiles * RM_NR), kc = (size_t)w.kc, *n = &w.bytes;
  w.a = rm_carve(work, n, r * kc * 8);
  w.b = rm_carve(work, n, c * kc * 8);
  w.c = rm_carve(work, n, r * c * 8);
  w.row_bound = rm_carve(work, n, r * 8);
  w.col_norm = rm_carve(work, n, c * 8);
  w.bias = rm_carve(work, n, c * 8);
  w.err_bias = rm_carve(work, n, c * 8);
  w.rows = rm_carve(work, n, r * sizeof(rm_line));
  w.cols = rm_carve(work, n, c * sizeof(rm_line));
  w.flagged = rm_carve(work, n, r * c / RM_LANES);
  return w;
}

/* Where more than one in RM_FLOOD elements of a block stays open, the double-double engine, which computes all of it, is faster
 * than single dot products. Small blocks, whose workspace should stay small, never go there. */
enum { RM_FLOOD = 16, RM_FLOOD_LEAST = 4096 };

static size_t rm_work_f32(int64_t rows, int64_t cols, int64_t k) {
  size_t plain = rm_layout_of_f32(rows, cols, k, 0).bytes, flooded = rm_work_dd(rows, cols, k);
  return plain > flooded || rows * cols < RM_FLOOD_LEAST ? plain : flooded;
}

/* From sums of squares to bounds, once all of k is packed. */
static void rm_finish_bounds_f32(const rm_layout_f32 *w, const rm_matmul_problem *p, const rm_block *block) {
  double tu = rm_bound_f32(p->k);
  for (int64_t i = 0; i < w->row_tiles * RM_MR; i += RM_LANES)
    vf64_store(w->row_bound + i, vf64_mul(vf64_set1(tu), vf64_sqrt(vf64_load(w->row_bound + i))));
  for (int64_t j = 0; j < w->col_tiles * RM_NR; j += RM_LANES)
    vf64_store(w->col_norm + j, vf64_sqrt(vf64_load(w->col_norm + j)));
  if (!p->bias.base) return;
  const char *bias = p->bias.base + block->col * p->bias.col;
  for (int64_t j = 0; j < w->col_tiles * RM_NR; j++) {
    w->bias[j] = j < block->cols ? rm_read_element(bias + j * p->bias.col, RM_F32) : 0.0;
    w->err_bias[j] = tu * __builtin_fabs(w->bias[j]);
  }
}

/* Goes through the flagged elements. With settle only those are decided, and taken off the list, that need not read their
 * products again. Returns how many stay. */
static int64_t rm_resolve_flagged_f32(const rm_layout_f32 *w, rm_resolver *r, int settle) {
  const rm_matmul_problem *p = r->p;
  const rm_block *block = r->block;
  const double *tile = w->c;
  uint8_t *flagged = w->flagged;
  int64_t left = 0;
  for (int64_t j0 = 0; j0 < block->cols; j0 += RM_NR) {
    int nv = rm_vectors(block->cols - j0, RM_NR);
    for (int64_t i0 = 0; i0 < block->rows; i0 += RM_MR, tile += RM_TILE, flagged += RM_TILE / RM_LANES) {
      int rows = rm_at_most(block->rows - i0, RM_MR);
      for (int q = 0; q < rows * nv; q++) {
        for (uint32_t lanes = flagged[q]; lanes; lanes &= lanes - 1) {
          int lane = __builtin_ctz(lanes);
          int64_t i = i0 + q / nv, j = j0 + (q % nv) * RM_LANES + lane;
          double bias = p->bias.base ? w->bias[j] : 0.0, c = tile[q * RM_LANES + lane] + bias;
          double err = w->row_bound[i] * w->col_norm[j] + (p->bias.base ? w->err_bias[j] : 0.0);
          float v;
          if (!settle)
            v = rm_resolve_element_f32(r, i, j, c, err, bias);
          else if (!rm_settle_element_f32(r, i, j, c, err, bias, &v)) {
            left++;
            continue;
          }
          flagged[q] = (uint8_t)(flagged[q] & ~(1u << lane));
          __builtin_memcpy(p->c.base + (block->row + i) * p->c.row + (block->col + j) * p->c.col, &v, 4);
        }
      }
    }
  }
  return left;
}

static uint32_t rm_resolve_block_f32(const rm_layout_f32 *w, const rm_matmul_problem *p, const rm_block *block, int64_t open,
                                     void *work, rm_tiers *tiers) {
  __builtin_memset(w->rows, 0, (size_t)block->rows * sizeof(rm_line));
  __builtin_memset(w->cols, 0, (size_t)block->cols * sizeof(rm_line));
  rm_resolver r = {p, block, w->rows, w->cols, open >= block->rows + block->cols, tiers, 0};
  if (r.many) {
    open = rm_resolve_flagged_f32(w, &r, 1);
    int64_t elements = block->rows * block->cols;
    if (elements >= RM_FLOOD_LEAST && open > elements / RM_FLOOD) {
      rm_tiers all = {0, 0, 0};
      uint32_t flags = rm_block_dd_f32(p, block, work, &all); /* overwrites the workspace */
      int64_t last = all.accumulator < open ? all.accumulator : open; /* infinite elements, settled above, may be among them */
      tiers->accumulator += last;
      tiers->double_double += open - last;
      return r.flags | flags;
    }
  }
  if (open) rm_resolve_flagged_f32(w, &r, 0);
  return r.flags;
}

static uint32_t rm_block_f32(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers) {
  rm_layout_f32 w = rm_layout_of_f32(block->rows, block->cols, p->k, work);
  const char *a = p->a.base + block->row * p->a.row, *b = p->b.base + block->col * p->b.col;
  char *c = p->c.base + block->row * p->c.row + block->col * p->c.col;
  int64_t open = 0, k0 = 0;
  __builtin_memset(w.row_bound, 0, (size_t)(w.row_tiles * RM_MR) * 8);
  __builtin_memset(w.col_norm, 0, (size_t)(w.col_tiles * RM_NR) * 8);
  do { /* once for k = 0, which leaves +0 and the bias */
    int64_t kc = p->k - k0 < RM_KC ? p->k - k0 : RM_KC;
    int last = k0 + kc >= p->k;
    rm_pack_block(w.a, RM_MR, 0, block->rows, kc, a + k0 * p->a.col, p->a.row, p->a.col, RM_F32, w.row_bound, 0);
    rm_pack_block(w.b, RM_NR, 1, block->cols, kc, b + k0 * p->b.row, p->b.col, p->b.row, RM_F32, w.col_norm, 0);
    if (last) rm_finish_bounds_f32(&w, p, block);
    double *tile = w.c;
    uint8_t *flagged = w.flagged;
    for (int64_t j = 0; j < block->cols; j += RM_NR) {
      int nv = rm_vectors(block->cols - j, RM_NR);
      for (int64_t i = 0; i < block->rows; i += RM_MR, tile += RM_TILE, flagged += RM_TILE / RM_LANES) {
        rm_micro_f32[nv](kc, w.a + i * kc, w.b + j * kc, tile, k0 == 0);
        if (last)
          open += rm_epilogue_tile_f32(tile, nv, rm_at_most(block->rows - i, RM_MR), rm_at_most(block->cols - j, RM_NR),
                                       w.row_bound + i, w.col_norm + j, p->bias.base ? w.bias + j : 0, w.err_bias + j,
                                       c + i * p->c.row + j * p->c.col, p->c.row, p->c.col, flagged);
      }
    }
    k0 += kc;
  } while (k0 < p->k);
  tiers->fast += block->rows * block->cols - open;
  if (!open) return 0;
  return rm_resolve_block_f32(&w, p, block, open, work, tiers);
}

#endif
