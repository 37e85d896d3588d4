/* The double-double matmul engine over one block of C. It scales, packs, multiplies, tests and rounds, and resolves undecided
 * elements.
 *
 * It serves binary64, and blocks of binary32 in which the binary64 engine decides too few elements. The format is a constant
 * at every call of the inlined body. */
#pragma once

#include "epilogue_dd.h"
#include "kernels.h"
#include "micro_dd.h"
#include "resolve_dd.h"
#include "workspace.h"

typedef struct {
  int64_t row_tiles, col_tiles; /* tiles of AW2 x NR2 */
  double *a, *b, *hi, *lo;
  double *row_factor, *row_shift, *col_factor, *col_shift;
  uint8_t *row_kind, *col_kind, *flagged;
  rm_output_map output;
  rm_vector_facts *rows, *cols;
  char *stage_a, *stage_b; /* for im2col views */
  size_t bytes;
} rm_layout_dd;

static rm_layout_dd rm_layout_of_dd(const rm_matmul_problem *p, int64_t rows, int64_t cols, char *work) {
  rm_layout_dd w;
  w.row_tiles = (rows + RM_AW2 - 1) / RM_AW2;
  w.col_tiles = (cols + RM_NR2 - 1) / RM_NR2;
  w.bytes = rm_bump_start(work);
  size_t r = (size_t)(w.row_tiles * RM_AW2), c = (size_t)(w.col_tiles * RM_NR2), *n = &w.bytes;
  size_t kc = (size_t)(p->k < RM_KC2 ? p->k : RM_KC2);
  w.a = rm_bump_allocate(work, n, r * kc * 8);
  w.b = rm_bump_allocate(work, n, c * kc * 8);
  w.hi = rm_bump_allocate(work, n, r * c * 8);
  w.lo = rm_bump_allocate(work, n, r * c * 8);
  w.row_factor = rm_bump_allocate(work, n, r * 8);
  w.row_shift = rm_bump_allocate(work, n, r * 8);
  w.col_factor = rm_bump_allocate(work, n, c * 8);
  w.col_shift = rm_bump_allocate(work, n, c * 8);
  w.row_kind = rm_bump_allocate(work, n, r);
  w.col_kind = rm_bump_allocate(work, n, c);
  w.rows = rm_bump_allocate(work, n, r * sizeof(rm_vector_facts));
  w.cols = rm_bump_allocate(work, n, c * sizeof(rm_vector_facts));
  w.flagged = rm_bump_allocate(work, n, r * c / RM_LANES);
  rm_output_map_allocate(&w.output, work, n, r, c);
  w.stage_a = rm_bump_allocate(work, n, rm_stage_bytes(p->a.im2col, RM_AW2, rows, (int64_t)kc));
  w.stage_b = rm_bump_allocate(work, n, rm_stage_bytes(p->b.im2col, RM_NR2, cols, (int64_t)kc));
  return w;
}

static size_t rm_work_dd(const rm_matmul_problem *p, int64_t rows, int64_t cols) {
  return rm_layout_of_dd(p, rows, cols, 0).bytes;
}

/* A tile of sums at (i, j) of the block, nv vectors a row. flagged[q * nv + v] gets the lanes for the resolver. */
typedef struct {
  int64_t i, j;
  int nv;
  double *hi, *lo;
  uint8_t *flagged;
} rm_tile_dd;

/* Takes Ziv's rounding test over a tile. Returns how many elements are undecided. */
RM_FN int64_t rm_epilogue_tile_dd(const rm_layout_dd *w, const rm_matmul_problem *p, const rm_block *block,
                                  const rm_tile_dd *t, const int fmt) {
  const int size = rm_size_of(fmt), nv = t->nv;
  const int64_t i = t->i, j = t->j;
  int rows = rm_min_int(block->rows - i, RM_AW2), cols = rm_min_int(block->cols - j, RM_NR2);
  int64_t total = 0;
  const vf64 bound = vf64_set1(rm_bound_dd(p->k));
  const vm64 all = vi64_eq(vi64_set1(0), vi64_set1(0));
  for (int q = 0; q < rows; q++) {
    vi64 row_shift = vi64_set1((int64_t)rm_bits64(w->row_shift[i + q]));
    for (int v = 0; v < nv; v++) {
      if (p->alpha_beta && !rm_scales_in_vectors(p->alpha_beta, fmt)) { /* one by one: rm_resolve_alpha_beta_dd */
        const int left = cols - v * RM_LANES;
        t->flagged[q * nv + v] = (uint8_t)((1u << (left < RM_LANES ? left : RM_LANES)) - 1);
        total += left < RM_LANES ? left : RM_LANES;
        continue;
      }
      int at = v * RM_LANES, lanes = cols - at < RM_LANES ? cols - at : RM_LANES, x = (q * nv + v) * RM_LANES;
      rm_scaled s = {vf64_load(t->hi + x), vf64_load(t->lo + x), bound, all};
      vi64 shift = vi64_add(row_shift, vf64_bits(vf64_load(w->col_shift + j + at)));
      if (p->alpha_beta) s = rm_times_alpha(s, p->alpha_beta->alpha);
      if (p->bias.base)
        s = rm_add_bias(s, rm_load_bias(&p->bias, block->row + i + q, block->col + j + at, lanes, fmt), shift);
      uint32_t undecided;
      if (RM_LIKELY(w->output.whole[(j + at) / RM_LANES])) {
        undecided = rm_round_scaled(s, shift, fmt, rm_output_at(&w->output, i + q, j + at));
      } else {
        char out[RM_LANES * 8];
        undecided = rm_round_scaled(s, shift, fmt, out) & ((1u << lanes) - 1);
        for (int l = 0; l < lanes; l++)
          __builtin_memcpy(rm_output_at(&w->output, i + q, j + at + l), out + l * size, (size_t)size);
      }
      t->flagged[q * nv + v] = (uint8_t)undecided;
      total += __builtin_popcount(undecided);
    }
  }
  return total;
}

static uint32_t rm_resolve_block_dd(const rm_layout_dd *w, const rm_matmul_problem *p, const rm_block *block, rm_tiers *tiers,
                                    int fmt) {
  rm_resolver_dd r = {
      p,       block, fmt, w->row_factor, w->row_shift, w->col_factor, w->col_shift, w->row_kind, w->col_kind, w->rows,
      w->cols, tiers, 0};
  __builtin_memset(w->rows, 0, (size_t)block->rows * sizeof(rm_vector_facts));
  __builtin_memset(w->cols, 0, (size_t)block->cols * sizeof(rm_vector_facts));
  const double *hi = w->hi, *lo = w->lo;
  const uint8_t *flagged = w->flagged;
  const int tile = RM_AW2 * RM_NR2;
  for (int64_t j0 = 0; j0 < block->cols; j0 += RM_NR2) {
    int nv = rm_vectors(block->cols - j0, RM_NR2);
    for (int64_t i0 = 0; i0 < block->rows; i0 += RM_AW2, hi += tile, lo += tile, flagged += tile / RM_LANES) {
      int rows = rm_min_int(block->rows - i0, RM_AW2);
      for (int q = 0; q < rows * nv; q++)
        for (uint32_t lanes = flagged[q]; lanes; lanes &= lanes - 1) {
          int lane = __builtin_ctz(lanes), x = q * RM_LANES + lane;
          int64_t i = i0 + q / nv, j = j0 + (q % nv) * RM_LANES + lane;
          char *at = rm_output_at(&w->output, i, j);
          const rm_pair sum = {hi[x], lo[x]};
          rm_write_bits(at,
                        p->alpha_beta ? rm_resolve_alpha_beta_dd(&r, i, j, sum, rm_read_bits(at, fmt))
                                      : rm_resolve_element_dd(&r, i, j, sum),
                        fmt);
        }
    }
  }
  return r.flags;
}

RM_FN uint32_t rm_block_dd(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers, const int fmt) {
  rm_layout_dd w = rm_layout_of_dd(p, block->rows, block->cols, work);
  int64_t undecided = 0, k0 = 0;
  const int tile = RM_AW2 * RM_NR2;
  rm_output_map_fill(&w.output, &p->c, block, rm_size_of(fmt));
  rm_scale_vectors(w.row_factor, w.row_shift, w.row_kind, &p->a, block->row, block->rows, w.row_tiles * RM_AW2, p->k, fmt);
  rm_scale_vectors(w.col_factor, w.col_shift, w.col_kind, &p->b, block->col, block->cols, w.col_tiles * RM_NR2, p->k, fmt);
  do { /* once for k = 0, which leaves 0 and the bias */
    int64_t kc = p->k - k0 < RM_KC2 ? p->k - k0 : RM_KC2;
    int last = k0 + kc >= p->k;
    rm_pack_operand(&(rm_panels){w.a, RM_AW2, 0, kc, 0, rm_no_weights, w.row_factor, w.stage_a}, &p->a, block->row,
                    block->rows, k0, fmt);
    rm_pack_operand(&(rm_panels){w.b, RM_NR2, 1, kc, 0, rm_no_weights, w.col_factor, w.stage_b}, &p->b, block->col,
                    block->cols, k0, fmt);
    double *hi = w.hi, *lo = w.lo;
    uint8_t *flagged = w.flagged;
    for (int64_t j = 0; j < block->cols; j += RM_NR2) {
      int nv = rm_vectors(block->cols - j, RM_NR2);
      rm_micro_dd_fn *micro = rm_micro_dd(nv);
      for (int64_t i = 0; i < block->rows; i += RM_AW2, hi += tile, lo += tile, flagged += tile / RM_LANES) {
        int rows = rm_min_int(block->rows - i, RM_AW2);
        for (int q = 0; q < rows; q += RM_MR2)
          micro(kc, w.a + i * kc + q, w.b + j * kc, hi + q * nv * RM_LANES, lo + q * nv * RM_LANES, k0 == 0);
        if (last) undecided += rm_epilogue_tile_dd(&w, p, block, &(rm_tile_dd){i, j, nv, hi, lo, flagged}, fmt);
      }
    }
    k0 += kc;
  } while (k0 < p->k);
  tiers->fast += block->rows * block->cols - undecided;
  return undecided ? rm_resolve_block_dd(&w, p, block, tiers, fmt) : 0;
}

static uint32_t rm_block_f64(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers,
                             rm_panel_queue *queue) {
  (void)queue;
  return rm_block_dd(p, block, work, tiers, RM_F64);
}

static uint32_t rm_block_dd_f32(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers) {
  return rm_block_dd(p, block, work, tiers, RM_F32);
}
