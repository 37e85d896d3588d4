/* The binary64 engine over one block of C, whose operands are f32, f16 or bf16. It packs, multiplies in binary64, tests and
 * rounds, and resolves undecided elements. Its bounds are those of binary32, which contains the numbers of all three formats.
 *
 * The block is cut into tiles of MR x NR, in the order of the loops below; k is cut into pieces of KC. Partial sums stay in
 * the workspace in binary64. */
#pragma once

#include "epilogue_b64.h"
#include "prefetch.h"
#include "gemm_dd.h"
#include "kernels.h"
#include "layout_b64.h"
#include "micro_b64.h"
#include "padding_b64.h"
#include "vectors_b64.h"
#include "panel_queue.h"
#include "partials_b64.h"
#include "gemv_b64.h"

/* The fallback threshold: where more than one in RM_FALLBACK_RATIO elements of a block is undecided, the double-double
 * engine, which computes all of it, is faster than single dot products. Small blocks, whose workspace should stay small,
 * never go there, nor do 16-bit formats: rounding to them leaves few elements undecided, and the certificate sees their
 * ties. */
enum { RM_FALLBACK_RATIO = 16, RM_FALLBACK_MIN = 4096 };
RM_FN int rm_may_fall_back(const rm_matmul_problem *p, int64_t rows, int64_t cols) {
  return p->fmt == RM_F32 && rows * cols >= RM_FALLBACK_MIN;
}

static size_t rm_work_b64(const rm_matmul_problem *p, int64_t rows, int64_t cols) {
  size_t plain = rm_layout_of_b64(p, rows, cols, 0).bytes,
         fallback = rm_work_dd(p, rows, cols < RM_COLS_DD ? cols : RM_COLS_DD);
  return plain > fallback || !rm_may_fall_back(p, rows, cols) ? plain : fallback;
}

/* Turns weighted sums of squares into bounds, once all of k is packed. */
RM_FN void rm_finish_rows_b64(const rm_layout_b64 *w, const rm_matmul_problem *p) {
  const double tu = rm_bound_joined_b64(p->k, p->partial.joins);
  for (int64_t i = 0; i < w->row_tiles * RM_MR; i += RM_LANES)
    vf64_store(w->row_bound + i, vf64_mul(vf64_set1(tu), vf64_sqrt(vf64_load(w->row_bound + i))));
}
RM_FN void rm_finish_columns_b64(double *norm) {
  RM_UNROLL for (int j = 0; j < RM_NR; j += RM_LANES) vf64_store(norm + j, vf64_sqrt(vf64_load(norm + j)));
}

RM_FN int rm_any_flagged(const uint8_t *flagged, int n) {
  uint64_t any = 0, word;
  int q = 0;
  for (; q + 8 <= n; q += 8) __builtin_memcpy(&word, flagged + q, 8), any |= word;
  for (; q < n; q++) any |= flagged[q];
  return any != 0;
}

/* Elements that need their products again are deferred, and computed some at a time. Where rows of an operand are neighbours
 * in memory they are read k after k: a column of B may touch as many cache lines, and pages, as it has elements, which
 * neighbours share and which follow one another. */
enum {
  RM_DEFERRED = 64,
  RM_DEFERRED_K = 64,
  RM_DEFERRED_ROW = RM_DEFERRED_K + 8
}; /* rows that do not all fall to the same sets of a cache */
typedef struct {
  int64_t i, j;
  double err, bias;
} rm_deferred_element;
typedef struct {
  int count;
  rm_deferred_element element[RM_DEFERRED];
} rm_deferred_elements;

/* Gathers k in [k, k + n) of the rows of deferred elements, padded with zeros to whole vectors. `left` are all from the k-th
 * on. */
RM_FN void rm_gather_deferred_k(double (*dst)[RM_DEFERRED_ROW], const char *const *at, int count, ptrdiff_t step, int64_t n,
                                int64_t left, const int fmt) {
  enum { AHEAD = 8 };
  for (int64_t q = 0; q < n; q++) {
    const ptrdiff_t here = q * step, later = (q + AHEAD < left ? q + AHEAD : q) * step;
    for (int e = 0; e < count; e++) {
      __builtin_prefetch(at[e] + later);
      dst[e][q] = rm_read_element(at[e] + here, fmt);
    }
  }
}
static void rm_gather_deferred(double (*dst)[RM_DEFERRED_ROW], const int64_t *row, int count, const rm_operand *o, int64_t k,
                               int64_t n, int64_t left, int fmt) {
  const char *at[RM_DEFERRED];
  if (o->im2col || o->row_stride != rm_size_of(fmt)) {
    for (int e = 0; e < count; e++) rm_gather(dst[e], o, row[e], k, n, 1.0, fmt);
    return;
  }
  for (int e = 0; e < count; e++) {
    if (n % RM_LANES) vf64_store(dst[e] + n / RM_LANES * RM_LANES, vf64_set1(0.0));
    at[e] = o->base + row[e] * o->row_stride + k * o->k_stride;
  }
  switch (fmt) {
    case RM_F16: rm_gather_deferred_k(dst, at, count, o->k_stride, n, left, RM_F16); break;
    case RM_BF16: rm_gather_deferred_k(dst, at, count, o->k_stride, n, left, RM_BF16); break;
    default: rm_gather_deferred_k(dst, at, count, o->k_stride, n, left, RM_F32);
  }
}

static void rm_resolve_deferred(rm_deferred_elements *deferred, rm_resolver *r, const rm_output_map *output) {
  const rm_matmul_problem *p = r->p;
  const int count = deferred->count;
  rm_dot2 sums[RM_DEFERRED];
  double x[RM_DEFERRED][RM_DEFERRED_ROW], y[RM_DEFERRED][RM_DEFERRED_ROW];
  int64_t row[RM_DEFERRED], col[RM_DEFERRED];
  for (int e = 0; e < count; e++)
    row[e] = r->block->row + deferred->element[e].i, col[e] = r->block->col + deferred->element[e].j;
  __builtin_memset(sums, 0, (size_t)count * sizeof *sums);
  for (int64_t k = 0; k < p->k; k += RM_DEFERRED_K) {
    const int64_t n = p->k - k < RM_DEFERRED_K ? p->k - k : RM_DEFERRED_K;
    rm_gather_deferred(x, row, count, &p->a, k, n, p->k - k, p->fmt);
    rm_gather_deferred(y, col, count, &p->b, k, n, p->k - k, p->fmt);
    for (int e = 0; e < count; e++) rm_dot2_add(sums + e, x[e], y[e], n);
  }
  for (int e = 0; e < count; e++) {
    const rm_deferred_element *at = deferred->element + e;
    rm_write_bits(rm_output_at(output, at->i, at->j),
                  rm_finish_element_b64(r, at->i, at->j, rm_dot2_total(sums + e, at->bias), at->err, at->bias), p->out_fmt);
  }
  deferred->count = 0;
}
RM_FN void rm_defer(rm_deferred_elements *deferred, rm_resolver *r, const rm_output_map *output,
                    rm_deferred_element element) {
  int at = deferred->count++; /* in the order of columns, which is that of memory */
  for (; at > 0 && deferred->element[at - 1].j > element.j; at--) deferred->element[at] = deferred->element[at - 1];
  deferred->element[at] = element;
  if (deferred->count == RM_DEFERRED) rm_resolve_deferred(deferred, r, output);
}

/* Goes through the flagged elements. With `cheaply` only those are decided, and taken off the list, that need not read their
 * products again. Returns how many stay undecided. */
static int64_t rm_resolve_flagged_b64(const rm_layout_b64 *w, rm_resolver *r, int cheaply) {
  const rm_matmul_problem *p = r->p;
  const rm_block *block = r->block;
  const double *tile = w->c;
  uint8_t *flagged = w->flagged;
  int64_t left = 0;
  rm_deferred_elements deferred;
  rm_padding_row beside[RM_PADDING_ROWS];
  deferred.count = 0;
  const rm_epilogue_b64 e = {p, block, w->output, w->row_bound, w->col_norm, rm_bound_b64(p->k)};
  for (int64_t j0 = 0; j0 < block->cols; j0 += RM_NR) {
    int nv = rm_vectors(block->cols - j0, RM_NR), many = 0;
    const int cols = rm_min_int(block->cols - j0, RM_NR);
    for (int64_t i0 = 0; i0 < block->rows; i0 += RM_MR, tile += RM_TILE, flagged += RM_TILE / RM_LANES) {
      int rows = rm_min_int(block->rows - i0, RM_MR);
      if (many > RM_PADDING_ROWS - RM_MR) rm_resolve_beside_padding(beside, many, r, j0, cols, &w->output), many = 0;
      if (!rm_any_flagged(flagged, rows * nv)) continue;
      for (int q = 0; q < rows * nv; q++) {
        if (!flagged[q]) continue;
        const int64_t i = i0 + q / nv, j1 = j0 + (q % nv) * RM_LANES;
        flagged[q] = (uint8_t)(flagged[q] & ~rm_decide_vector_b64(r, &e, i, j1, flagged[q], tile + q * RM_LANES));
        const uint32_t padded = r->padding ? rm_nan_lanes(&e, i, j1, tile + q * RM_LANES) & flagged[q] : 0;
        if (padded) {
          if (many == 0 || beside[many - 1].i != i) beside[many].i = i, beside[many++].lanes = 0;
          beside[many - 1].lanes |= padded << q % nv * RM_LANES;
          flagged[q] = (uint8_t)(flagged[q] & ~padded);
        }
        for (uint32_t lanes = flagged[q]; lanes; lanes &= lanes - 1) {
          int lane = __builtin_ctz(lanes);
          int64_t j = j1 + lane;
          const char *at = rm_bias_at(p, block->row + i, block->col + j);
          double bias = p->bias.base ? rm_read_element(at, p->fmt) : 0.0, c = tile[q * RM_LANES + lane] + bias;
          double err = w->row_bound[i] * w->col_norm[j] + rm_bound_b64(p->k) * __builtin_fabs(bias);
          uint64_t bits;
          if (p->alpha_beta)
            bits = rm_resolve_alpha_beta_b64(r, i, j, c, err, rm_read_bits(rm_output_at(&w->output, i, j), p->out_fmt));
          else if (p->random.mode) bits = rm_resolve_random_b64(r, i, j, c, err, bias);
          else if (!rm_decide_element_b64(r, i, j, c, err, bias, &bits)) {
            if (cheaply) left++;
            else rm_defer(&deferred, r, &w->output, (rm_deferred_element){i, j, err, bias});
            continue;
          }
          flagged[q] = (uint8_t)(flagged[q] & ~(1u << lane));
          rm_write_bits(rm_output_at(&w->output, i, j), bits, p->out_fmt);
        }
      }
    }
    if (many) rm_resolve_beside_padding(beside, many, r, j0, cols, &w->output);
  }
  rm_resolve_deferred(&deferred, r, &w->output);
  return left;
}

static uint32_t rm_resolve_block_b64(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block,
                                     int64_t undecided, void *work, rm_tiers *tiers) {
  __builtin_memset(w->rows, 0, (size_t)block->rows * sizeof(rm_vector_facts));
  __builtin_memset(w->cols, 0, (size_t)block->cols * sizeof(rm_vector_facts));
  const int padding = (p->a.im2col && rm_im2col_may_pad(p->a.im2col)) || (p->b.im2col && rm_im2col_may_pad(p->b.im2col));
  const int many = undecided >= block->rows + block->cols;
  rm_resolver r = {p, block, w->rows, w->cols, many, padding, 0, tiers, 0};
  if (r.many && !p->alpha_beta && !p->random.mode) {
    undecided = rm_resolve_flagged_b64(w, &r, 1);
    if (rm_may_fall_back(p, block->rows, block->cols) && undecided > block->rows * block->cols / RM_FALLBACK_RATIO) {
      rm_tiers all = {0, 0, 0};
      uint32_t flags = 0;
      for (int64_t j = 0; j < block->cols; j += RM_COLS_DD) {
        const rm_block part = {block->row, block->rows, block->col + j, rm_min_int(block->cols - j, RM_COLS_DD)};
        flags |= rm_block_dd_f32(p, &part, work, &all); /* overwrites the workspace */
      }
      int64_t last =
          all.accumulator < undecided ? all.accumulator : undecided; /* infinite elements, decided above, may be among them */
      tiers->accumulator += last;
      tiers->double_double += undecided - last;
      return r.flags | flags;
    }
  }
  if (undecided) rm_resolve_flagged_b64(w, &r, 0);
  return r.flags;
}

/* Rounds the tile at (i, j) of the block; returns how many elements are undecided. */
RM_FN int rm_round_tile_b64(const rm_epilogue_b64 *e, const double *tile, int64_t i, int64_t j, uint8_t *flagged,
                            const int fmt) {
  const int rows = rm_min_int(e->block->rows - i, RM_MR), cols = rm_min_int(e->block->cols - j, RM_NR);
  const rm_tile_b64 t = {tile, flagged, i, j, rows, cols, rm_vectors(cols, RM_NR)};
  if (RM_UNLIKELY(e->p->partial.rows)) return rm_store_tile_b64(e, &t);
  if (fmt == RM_F32 || e->p->out_fmt == RM_F32) return rm_epilogue_tile_b64(e, &t, fmt, RM_F32);
  return rm_epilogue_tile_b64(e, &t, fmt, fmt);
}

/* A pass over a block: k in [k0, k0 + kc), of which A is packed. */
typedef struct {
  const rm_layout_b64 *w;
  const rm_matmul_problem *p;
  const rm_block *block;
  const rm_epilogue_b64 *e;
  rm_weights weights;
  int64_t k0, kc;
  int last, gemv;
} rm_pass_b64;

/* The panel of columns [j, j + RM_NR), whose B goes to b. Returns how many elements are undecided. The format is a constant
 * at every call. */
RM_FN int64_t rm_panel_plain(const rm_pass_b64 *t, int64_t j, double *b, const int fmt) {
  const rm_layout_b64 *w = t->w;
  const rm_matmul_problem *p = t->p;
  const rm_block *block = t->block;
  const int64_t k0 = t->k0, kc = t->kc;
  const int size = rm_size_of(fmt), by_panel = !p->b.im2col; /* B: a conv window is laid out once for all panels */
  const int cols = rm_min_int(block->cols - j, RM_NR), nv = rm_vectors(cols, RM_NR), last_panel = j + RM_NR >= block->cols;
  double *tile = w->c + j / RM_NR * w->row_tiles * RM_TILE;
  uint8_t *flagged = w->flagged + j / RM_NR * w->row_tiles * (RM_TILE / RM_LANES);
  int64_t undecided = 0;
  /* Registers for sums of squares are left in AVX-512 alone. */
  const int fused = RM_SIMD == RM_SIMD_AVX512 && !t->gemv && by_panel && cols == RM_NR && p->b.row_stride == size;
  if (!t->gemv && !fused && (by_panel || j == 0))
    rm_pack_operand(&(rm_panels){b, RM_NR, 1, kc, w->col_norm + j, t->weights, 0, w->stage_b}, &p->b, block->col + j,
                    by_panel ? cols : block->cols, k0, fmt);
  const double *panel = b + (by_panel ? 0 : j * kc);
  const int64_t next = last_panel ? 0 : j + RM_NR, next_k = last_panel ? k0 + kc : k0;
  rm_prefetch_runs next_b = rm_prefetch_runs_of(&p->b, block->col + next, rm_min_int(block->cols - next, RM_NR), next_k,
                                                rm_min_int(p->k - next_k, RM_KC), size);
  const int64_t some = (next_b.runs + w->row_tiles - 1) / w->row_tiles;
  rm_plain_tile_b64 before;
  int waiting = 0; /* for the next tile: the one before is yet to be rounded */
  for (int64_t i = 0; i < block->rows; i += RM_MR, tile += RM_TILE, flagged += RM_TILE / RM_LANES) {
    const int rows = rm_min_int(block->rows - i, RM_MR);
    if (t->last) rm_prefetch_output(&w->output, i, rows, j, cols, rm_size_of(p->out_fmt));
    if (!t->gemv) {
      rm_prefetch_l1(&next_b, some);
      if (last_panel)
        rm_prefetch_l2(rm_prefetch_runs_of(&p->a, block->row + i, rows, k0 + kc, rm_min_int(p->k - k0 - kc, RM_KC), size));
      if (fused && i == 0)
        rm_micro_b64_packing(kc, w->a,
                             &(rm_panel_to_pack){p->b.base + (block->col + j) * size + k0 * p->b.k_stride, p->b.k_stride, b,
                                                 w->col_norm + j, t->weights},
                             tile, k0 == 0, fmt);
      else if (waiting) undecided += rm_micro_b64_rounding(kc, w->a + i * kc, panel, tile, k0 == 0, &before), waiting = 0;
      else rm_micro_b64[nv](kc, w->a + i * kc, panel, tile, k0 == 0);
    }
    if (t->last && i == 0) rm_finish_columns_b64(w->col_norm + j);
    waiting = RM_SIMD == RM_SIMD_AVX512 && t->last && kc >= RM_ROUNDING_MIN_K && i + RM_MR < block->rows &&
              p->out_fmt == RM_F32 && rm_is_whole(t->e, j, cols) &&
              rm_has_no_specials_b64(t->e, tile, i, j, flagged, &before);
    if (t->last && !waiting) undecided += rm_round_tile_b64(t->e, tile, i, j, flagged, fmt);
  }
  return undecided;
}

/* Takes panels until none is left; adds to *undecided how many of their elements are undecided. Returns how many panels. */
typedef int64_t rm_panels_fn(const rm_pass_b64 *t, rm_panel_queue *queue, double *b, int64_t *undecided);
RM_FN int64_t rm_panels_plain(const rm_pass_b64 *t, rm_panel_queue *queue, double *b, int64_t *undecided, const int fmt) {
  int64_t count = 0, mine = 0;
  for (int64_t j; (j = rm_panel_queue_take(queue, &mine) * RM_NR) < t->block->cols; count++)
    *undecided += rm_panel_plain(t, j, b, fmt);
  return count;
}

RM_FN uint32_t rm_block_plain(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers,
                              rm_panel_queue *queue, rm_panels_fn *panels, const int fmt) {
  rm_layout_b64 w = rm_layout_of_b64(p, block->rows, block->cols, work);
  int64_t undecided = 0, k0 = 0;
  __builtin_memset(w.row_bound, 0, (size_t)(w.row_tiles * RM_MR) * 8);
  __builtin_memset(w.col_norm, 0, (size_t)(w.col_tiles * RM_NR) * 8);
  rm_output_map_fill(&w.output, &p->c, block, rm_size_of(p->out_fmt));
  const rm_epilogue_b64 e = {p, block, w.output, w.row_bound, w.col_norm, rm_bound_b64(p->k)};
  const int gemv = rm_gemv_sums(&w, p, block, fmt);
  do { /* once for k = 0, which leaves +0 and the bias */
    const int64_t kc = gemv ? p->k : p->k - k0 < RM_KC ? p->k - k0 : RM_KC;
    const rm_weights weights = rm_weights_joined_b64(p->k, k0, p->partial.joins);
    const rm_pass_b64 pass = {&w, p, block, &e, weights, k0, kc, k0 + kc >= p->k, gemv};
    if (!gemv)
      rm_pack_operand(&(rm_panels){w.a, RM_MR, 0, kc, w.row_bound, pass.weights, 0, w.stage_a}, &p->a, block->row,
                      block->rows, k0, fmt);
    if (pass.last) rm_finish_rows_b64(&w, p);
    rm_panel_queue *const shared = gemv || p->b.im2col ? 0 : queue;
    if (shared) rm_panel_queue_open(shared, &pass);
    panels(&pass, shared, w.b, &undecided);
    if (shared) undecided += rm_panel_queue_close(shared);
    k0 += kc;
  } while (k0 < p->k);
  if (p->partial.rows) return rm_store_bounds_b64(&w, p, block);
  tiers->fast += block->rows * block->cols - undecided;
  if (!undecided) return 0;
  return rm_resolve_block_b64(&w, p, block, undecided, work, tiers);
}
RM_FN int rm_help_plain(rm_panel_queue *queue, char *work, rm_panels_fn *panels) {
  if (!rm_panel_queue_enter(queue)) return 0;
  int64_t undecided = 0, count = panels(queue->pass, queue, (double *)(void *)(work + rm_bump_start(work)), &undecided);
  rm_panel_queue_leave(queue, undecided);
  return count > 0;
}

#define RM_ENGINE_B64(name, FMT)                                                                                  \
  static int64_t rm_panels_##name(const rm_pass_b64 *t, rm_panel_queue *queue, double *b, int64_t *undecided) {   \
    return rm_panels_plain(t, queue, b, undecided, FMT);                                                          \
  }                                                                                                               \
  static uint32_t rm_block_##name(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers, \
                                  rm_panel_queue *queue) {                                                        \
    return rm_block_plain(p, block, work, tiers, queue, rm_panels_##name, FMT);                                   \
  }                                                                                                               \
  static int rm_help_##name(rm_panel_queue *queue, void *work) { return rm_help_plain(queue, work, rm_panels_##name); }
RM_ENGINE_B64(f16, RM_F16)
RM_ENGINE_B64(bf16, RM_BF16)
RM_ENGINE_B64(f32, RM_F32)
