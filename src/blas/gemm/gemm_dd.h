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

/* Rounds a vector of alpha s + beta d in binary64; returns the lanes for the resolver, which keep their old elements. An
 * infinite d decides where the sum is finite (alpha_beta.h): every product that is not finite shows in it. */
RM_FN uint32_t rm_round_beside_old(const rm_layout_dd *w, const rm_matmul_problem *p, rm_scaled s, vi64 shift, int64_t row,
                                   int64_t col, int lanes) {
  const rm_alpha_beta *t = p->alpha_beta;
  char out[RM_LANES * 8];
  const uint32_t here = (1u << lanes) - 1;
  const vf64 old = rm_load_old(t, &w->output, row, col, lanes, RM_F64);
  const uint32_t infinite = vm64_bits(rm_alpha_beta_infinity(t, s.hi, old, vf64_abs(s.lo))) & here;
  uint32_t undecided = rm_round_scaled(rm_add_old(s, t, old, shift), shift, RM_F64, out) & here & ~infinite;
  if (RM_UNLIKELY(infinite)) rm_store_infinities(out, infinite, t, old, RM_F64);
  rm_store_decided(&w->output, row, col, lanes, undecided, out, 8);
  return undecided;
}

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
      const int at = v * RM_LANES, lanes = cols - at < RM_LANES ? cols - at : RM_LANES, x = (q * nv + v) * RM_LANES;
      const int64_t row = i + q, col = j + at;
      rm_scaled s = {vf64_load(t->hi + x), vf64_load(t->lo + x), bound, all};
      vi64 shift = vi64_add(row_shift, vf64_bits(vf64_load(w->col_shift + col)));
      if (p->alpha_beta && !rm_is_zero(p->alpha_beta->beta)) {
        t->flagged[q * nv + v] = (uint8_t)rm_round_beside_old(w, p, s, shift, row, col, lanes);
        total += __builtin_popcount(t->flagged[q * nv + v]);
        continue;
      }
      if (p->alpha_beta) s = rm_times_alpha(s, p->alpha_beta->alpha);
      if (p->bias.base) s = rm_add_bias(s, rm_load_bias(&p->bias, block->row + row, block->col + col, lanes, fmt), shift);
      uint32_t undecided;
      if (RM_LIKELY(w->output.whole[col / RM_LANES])) {
        undecided = rm_round_scaled(s, shift, fmt, rm_output_at(&w->output, row, col));
      } else {
        char out[RM_LANES * 8];
        undecided = rm_round_scaled(s, shift, fmt, out) & ((1u << lanes) - 1);
        for (int l = 0; l < lanes; l++)
          __builtin_memcpy(rm_output_at(&w->output, row, col + l), out + l * size, (size_t)size);
      }
      t->flagged[q * nv + v] = (uint8_t)undecided;
      total += __builtin_popcount(undecided);
    }
  }
  return total;
}

/* Packs K indices of an operand, scaled: one function a format, since its code is long, small where it is seldom called. */
RM_COLD void rm_pack_dd_f32(const rm_panels *panels, const rm_operand *o, int64_t first, int64_t rows, int64_t k0) {
  rm_panels to = *panels;
  to.norm2 = 0; /* as it is: the compiler should know */
  rm_pack_operand(&to, o, first, rows, k0, RM_F32);
}
RM_STATIC void rm_pack_dd(const rm_panels *panels, const rm_operand *o, int64_t first, int64_t rows, int64_t k0, int fmt) {
  rm_panels to = *panels;
  to.norm2 = 0;
  if (fmt == RM_F32) rm_pack_dd_f32(panels, o, first, rows, k0);
  else rm_pack_operand(&to, o, first, rows, k0, RM_F64);
}

/* Once the block is multiplied its panels are free: the products of the tile at (i0, j0) again, by all K indices. */
static void rm_dot2_of_tile(const rm_layout_dd *w, const rm_matmul_problem *p, const rm_block *block, const rm_tile_dd *t,
                            rm_dot2_tile *to, int fmt) {
  const int64_t rows = rm_min_int(block->rows - t->i, RM_AW2), cols = rm_min_int(block->cols - t->j, RM_NR2);
  for (int64_t k0 = 0; k0 < p->k; k0 += RM_KC2) {
    const int64_t kc = p->k - k0 < RM_KC2 ? p->k - k0 : RM_KC2;
    rm_pack_dd(&(rm_panels){w->a, RM_AW2, 0, kc, 0, rm_no_weights, w->row_factor + t->i, w->stage_a}, &p->a,
               block->row + t->i, rows, k0, fmt);
    rm_pack_dd(&(rm_panels){w->b, RM_NR2, 1, kc, 0, rm_no_weights, w->col_factor + t->j, w->stage_b}, &p->b,
               block->col + t->j, cols, k0, fmt);
    switch (t->nv) {
      case 1: rm_dot2_panels(1, (int)rows, kc, w->a, w->b, t->flagged, to, k0 == 0); break;
      case 2: rm_dot2_panels(2, (int)rows, kc, w->a, w->b, t->flagged, to, k0 == 0); break;
      default: rm_dot2_panels(RM_NV2, (int)rows, kc, w->a, w->b, t->flagged, to, k0 == 0);
    }
  }
}

/* The test again with the better sums, over the flagged lanes of a tile, in binary64. */
static void rm_round_again(const rm_layout_dd *w, const rm_matmul_problem *p, const rm_block *block, const rm_tile_dd *t,
                           const rm_dot2_tile *sums, rm_tiers *tiers) {
  const int rows = rm_min_int(block->rows - t->i, RM_AW2), cols = rm_min_int(block->cols - t->j, RM_NR2);
  const vf64 relative = vf64_set1(rm_bound_dot2(p->k, 1.0)), least = vf64_set1(rm_bound_dot2(p->k, 0.0));
  const vm64 all = vi64_eq(vi64_set1(0), vi64_set1(0));
  if (p->alpha_beta && !rm_scales_in_vectors(p->alpha_beta, RM_F64)) return;
  for (int x = 0; x < rows * t->nv; x++) {
    const int64_t row = t->i + x / t->nv, at = (int64_t)(x % t->nv) * RM_LANES, col = t->j + at;
    const int lanes = cols - at < RM_LANES ? (int)(cols - at) : RM_LANES;
    const vi64 shift = vi64_add(vi64_set1((int64_t)rm_bits64(w->row_shift[row])), vf64_bits(vf64_load(w->col_shift + col)));
    char out[RM_LANES * 8];
    if (!t->flagged[x]) continue;
    const double *hi = sums->hi + x * RM_LANES, *lo = sums->lo + x * RM_LANES, *size = sums->size + x * RM_LANES;
    rm_scaled s = {vf64_load(hi), vf64_load(lo), vf64_mad(vf64_load(size), relative, least), all};
    if (p->alpha_beta && !rm_is_zero(p->alpha_beta->beta))
      s = rm_add_old(s, p->alpha_beta, rm_load_old(p->alpha_beta, &w->output, row, col, lanes, RM_F64), shift);
    else if (p->alpha_beta) s = rm_times_alpha(s, p->alpha_beta->alpha);
    if (p->bias.base) s = rm_add_bias(s, rm_load_bias(&p->bias, block->row + row, block->col + col, lanes, RM_F64), shift);
    const uint32_t decided = ~rm_round_scaled(s, shift, RM_F64, out) & t->flagged[x];
    rm_store_decided(&w->output, row, col, lanes, ~decided, out, 8);
    tiers->double_double += __builtin_popcount(decided);
    t->flagged[x] = (uint8_t)(t->flagged[x] & ~decided);
  }
}

/* Resolves the undecided elements of a tile. Where many need their products again, all of them get them at once. */
static void rm_resolve_tile_dd(rm_resolver_dd *r, const rm_layout_dd *w, const rm_tile_dd *t) {
  enum { FEW = RM_LANES };
  const rm_matmul_problem *p = r->p;
  const int rows = rm_min_int(r->block->rows - t->i, RM_AW2);
  rm_dot2_tile again;
  int needed = 0;
  r->again = NULL;
  for (int q = 0; q < rows * t->nv; q++)
    while (t->flagged[q]) {
      const int x = q * RM_LANES + __builtin_ctz(t->flagged[q]);
      const int64_t i = t->i + q / t->nv, j = t->j + x % (t->nv * RM_LANES);
      char *at = rm_output_at(&w->output, i, j);
      const int64_t before = r->tiers->double_double + r->tiers->accumulator;
      const rm_pair sum = {t->hi[x], t->lo[x]};
      r->place = x;
      rm_write_bits(at,
                    p->alpha_beta ? rm_resolve_alpha_beta_dd(r, i, j, sum, rm_read_bits(at, r->fmt))
                                  : rm_resolve_element_dd(r, i, j, sum),
                    r->fmt);
      t->flagged[q] = (uint8_t)(t->flagged[q] & (t->flagged[q] - 1u));
      needed += r->tiers->double_double + r->tiers->accumulator != before;
      if (needed == FEW && !r->again) {
        rm_dot2_of_tile(w, p, r->block, t, &again, r->fmt);
        if (r->fmt == RM_F64) rm_round_again(w, p, r->block, t, &again, r->tiers);
        r->again = &again;
      }
    }
}

static uint32_t rm_resolve_block_dd(const rm_layout_dd *w, const rm_matmul_problem *p, const rm_block *block, rm_tiers *tiers,
                                    int fmt) {
  rm_resolver_dd r = {p,
                      block,
                      fmt,
                      w->row_factor,
                      w->row_shift,
                      w->col_factor,
                      w->col_shift,
                      w->row_kind,
                      w->col_kind,
                      w->rows,
                      w->cols,
                      tiers,
                      0,
                      NULL,
                      0};
  __builtin_memset(w->rows, 0, (size_t)block->rows * sizeof(rm_vector_facts));
  __builtin_memset(w->cols, 0, (size_t)block->cols * sizeof(rm_vector_facts));
  rm_tile_dd t = {0, 0, 0, w->hi, w->lo, w->flagged};
  const int tile = RM_AW2 * RM_NR2;
  for (t.j = 0; t.j < block->cols; t.j += RM_NR2) {
    t.nv = rm_vectors(block->cols - t.j, RM_NR2);
    for (t.i = 0; t.i < block->rows; t.i += RM_AW2, t.hi += tile, t.lo += tile, t.flagged += tile / RM_LANES)
      rm_resolve_tile_dd(&r, w, &t);
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
    rm_pack_dd(&(rm_panels){w.a, RM_AW2, 0, kc, 0, rm_no_weights, w.row_factor, w.stage_a}, &p->a, block->row, block->rows,
               k0, fmt);
    rm_pack_dd(&(rm_panels){w.b, RM_NR2, 1, kc, 0, rm_no_weights, w.col_factor, w.stage_b}, &p->b, block->col, block->cols,
               k0, fmt);
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
