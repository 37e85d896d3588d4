/* Computes one row of C, a vector times a matrix, and reads B where it lies: packing would take longer than the products.
 *
 * The sums are those of micro_b64.h in another order. A product passes no more additions than bound_b64.h leaves to it,
 * min(K, KC) + ceil(K/KC) - 2 before the bias, for K >= 16 and every number of lanes L that divides KC (proofs/depth counts
 * them in this source):
 *   neighbours: columns of B   accumulation chains of KC products, joined, as there
 *   neighbours: k of B         each lane has ceil(K/L) of the products, in chains of KC, which are joined; then the lanes
 *                            are, by halves. That is min(ceil(K/L), KC) - 1 in a chain, p - 1 with p = ceil(K/(L KC)) where
 *                            chains are joined, and log2 L. L = 1: what is allowed. L > 1: K <= KC: ceil(K/L) - 1 + log2 L <=
 *                            K - 1 as K >= 16. KC < K <= L KC: p = 1, and with m = ceil(K/KC), 2 <= m <= L, at most m KC/L -
 *                            1 + log2 L <= KC + m - 2, since KC >= 16 L and log2 L <= L - 1. K > L KC: one more join for L KC
 *                            products more, where L are allowed.
 * All weights are 1, and norms pass K + log2 L additions at most. */
#pragma once

#include "layout_b64.h"
#include "micro_b64.h"
#include "pack.h"

enum { RM_GEMV_COLUMNS = 4, RM_GEMV_MIN_K = 16 };
typedef char rm_gemv_lanes_are_few[RM_KC % RM_LANES == 0 && RM_KC >= 16 * RM_LANES ? 1 : -1];

/* Adds k in [k, k + n) of whole panels to their accumulation chains and sums of squares. */
RM_FN void rm_gemv_panels(const rm_operand *b, int64_t col, int64_t cols, int64_t k, int64_t n, const double *a,
                          double *chain, double *norm2, const int fmt) {
  const char *src = b->base + col * b->row_stride + k * b->k_stride;
  const int size = rm_size_of(fmt);
  for (int64_t j = 0; j < cols; j += RM_NR, src += RM_NR * size) {
    vf64 sum[RM_NV], square[RM_NV];
    RM_UNROLL for (int v = 0; v < RM_NV; v++) {
      sum[v] = vf64_load(chain + j + v * RM_LANES);
      square[v] = vf64_load(norm2 + j + v * RM_LANES);
    }
    for (int64_t q = 0; q < n; q++) {
      const vf64 factor = vf64_set1(a[q * RM_MR]);
      RM_UNROLL for (int v = 0; v < RM_NV; v++) {
        const vf64 x = rm_load_elements(src + q * b->k_stride + v * RM_LANES * size, fmt);
        sum[v] = vf64_mad(factor, x, sum[v]);
        square[v] = vf64_mad(x, x, square[v]);
      }
    }
    RM_UNROLL for (int v = 0; v < RM_NV; v++) {
      vf64_store(chain + j + v * RM_LANES, sum[v]);
      vf64_store(norm2 + j + v * RM_LANES, square[v]);
    }
  }
}

RM_FN void rm_gemv_columns_adjacent(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block,
                                    const int fmt) {
  const int64_t whole = block->cols / RM_NR * RM_NR, rest = block->cols - whole;
  const char *a = p->a.base + block->row * p->a.row_stride, *b = p->b.base + block->col * p->b.row_stride;
  double *chain = w->chain, *panel = w->b; /* the rest is packed */
  for (int64_t k0 = 0; k0 < p->k; k0 += RM_KC) {
    const int64_t kc = p->k - k0 < RM_KC ? p->k - k0 : RM_KC;
    rm_pack_block(&(rm_panels){w->a, RM_MR, 0, kc, w->row_bound, rm_no_weights, 0, 0}, 1, 0, kc,
                  (rm_strided){a + k0 * p->a.k_stride, p->a.row_stride, p->a.k_stride}, fmt);
    for (int64_t j = 0; j < whole; j++) chain[j] = 0.0;
    for (int64_t k = 0; k < kc; k += RM_PACK_ROWS) {
      const int64_t n = kc - k < RM_PACK_ROWS ? kc - k : RM_PACK_ROWS;
      rm_gemv_panels(&p->b, block->col, whole, k0 + k, n, w->a + k * RM_MR, chain, w->col_norm, fmt);
    }
    for (int64_t j = 0; j < whole; j += RM_LANES) {
      double *at = w->c + j / RM_NR * RM_TILE + j % RM_NR;
      const vf64 sum = vf64_load(chain + j);
      vf64_store(at, k0 ? vf64_add(vf64_load(at), sum) : sum);
    }
    if (rest) {
      rm_pack_block(&(rm_panels){panel, RM_NR, 1, kc, w->col_norm + whole, rm_no_weights, 0, 0}, rest, 0, kc,
                    (rm_strided){b + whole * p->b.row_stride + k0 * p->b.k_stride, p->b.row_stride, p->b.k_stride}, fmt);
      rm_micro_b64[rm_vectors(rest, RM_NR)](kc, w->a, panel, w->c + whole / RM_NR * RM_TILE, k0 == 0);
    }
  }
}

/* Stores the sums of the lanes of two vectors for each column, by halves: in each step the upper ones come down. */
RM_FN void rm_gemv_join(const vf64 *v, double *sums) {
  for (int g = 0; g < 2 * RM_GEMV_COLUMNS; g += RM_LANES) {
    vf64 t[RM_LANES];
    RM_UNROLL for (int i = 0; i < RM_LANES; i++) t[i] = v[g + i];
    vf64_transpose(t);
    RM_UNROLL for (int half = RM_LANES / 2; half; half /= 2) RM_UNROLL for (int i = 0; i < half; i++) t[i] =
        vf64_add(t[i], t[i + half]);
    vf64_store(sums + g, t[0]);
  }
}
typedef char rm_gemv_lanes_divide_columns[2 * RM_GEMV_COLUMNS % RM_LANES == 0 ? 1 : -1];

/* The length of a lane's chain. The control of proofs/depth sets another length, which the bound does not count. */
#ifndef RM_CFG_GEMV_CHAIN
#define RM_CFG_GEMV_CHAIN RM_KC
#endif

/* Sums the products of a and RM_GEMV_COLUMNS columns of B at src, and behind them the squares of each. */
RM_FN void rm_gemv_dots(const char *a, const char *const *src, int64_t k, const int fmt, double *sums) {
  enum { N = RM_GEMV_COLUMNS, CHAIN = RM_LANES * (RM_CFG_GEMV_CHAIN) };
  const int size = rm_size_of(fmt);
  vf64 total[2 * N];
  RM_UNROLL for (int c = 0; c < 2 * N; c++) total[c] = vf64_set1(0.0);
  for (int64_t k0 = 0; k0 < k; k0 += CHAIN) {
    const int64_t end = k - k0 < CHAIN ? k : k0 + CHAIN;
    vf64 sum[2 * N];
    RM_UNROLL for (int c = 0; c < 2 * N; c++) sum[c] = vf64_set1(0.0);
    int64_t i = k0;
    for (; i + RM_LANES <= end; i += RM_LANES) {
      const vf64 x = rm_load_elements(a + i * size, fmt);
      RM_UNROLL for (int c = 0; c < N; c++) {
        const vf64 y = rm_load_elements(src[c] + i * size, fmt);
        sum[c] = vf64_mad(x, y, sum[c]);
        sum[N + c] = vf64_mad(y, y, sum[N + c]);
      }
    }
    if (RM_UNLIKELY(i < end)) { /* the last elements, filled up with zeros */
      double left[N + 1][RM_LANES] = {{0}};
      for (int l = 0; l < (int)(k - i); l++) {
        left[N][l] = rm_read_element(a + (i + l) * size, fmt);
        for (int c = 0; c < N; c++) left[c][l] = rm_read_element(src[c] + (i + l) * size, fmt);
      }
      RM_UNROLL for (int c = 0; c < N; c++) {
        const vf64 y = vf64_load(left[c]);
        sum[c] = vf64_mad(vf64_load(left[N]), y, sum[c]);
        sum[N + c] = vf64_mad(y, y, sum[N + c]);
      }
    }
    RM_UNROLL for (int c = 0; c < 2 * N; c++) total[c] = k0 ? vf64_add(total[c], sum[c]) : sum[c];
  }
  rm_gemv_join(total, sums);
}

/* The sum of the squares of k neighbours. */
RM_FN double rm_gemv_squares(const char *a, int64_t k, const int fmt) {
  enum { CHAINS = 4 };
  const int size = rm_size_of(fmt);
  vf64 sum[CHAINS];
  double l[RM_LANES], total = 0.0;
  RM_UNROLL for (int c = 0; c < CHAINS; c++) sum[c] = vf64_set1(0.0);
  int64_t i = 0;
  for (; i + CHAINS * RM_LANES <= k; i += CHAINS * RM_LANES) RM_UNROLL for (int c = 0; c < CHAINS; c++) {
      const vf64 x = rm_load_elements(a + (i + c * RM_LANES) * size, fmt);
      sum[c] = vf64_mad(x, x, sum[c]);
    }
  for (; i < k; i++) {
    const double x = rm_read_element(a + i * size, fmt);
    total += x * x;
  }
  vf64_store(l, vf64_add(vf64_add(sum[0], sum[1]), vf64_add(sum[2], sum[3])));
  for (int q = 0; q < RM_LANES; q++) total += l[q];
  return total;
}

RM_FN void rm_gemv_k_adjacent(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block, const int fmt) {
  enum { N = RM_GEMV_COLUMNS };
  const char *a = p->a.base + block->row * p->a.row_stride, *b = p->b.base + block->col * p->b.row_stride;
  double *last = w->c + (w->col_tiles - 1) * RM_TILE;
  for (int j = 0; j < RM_NR; j++) last[j] = 0.0;
  w->row_bound[0] = rm_gemv_squares(a, p->k, fmt);
  for (int64_t j = 0; j < block->cols; j += N) {
    const char *src[N];
    double sums[2 * N];
    for (int c = 0; c < N; c++) src[c] = b + (j + c < block->cols ? j + c : j) * p->b.row_stride;
    rm_gemv_dots(a, src, p->k, fmt, sums);
    for (int c = 0; c < N && j + c < block->cols; c++) {
      w->c[(j + c) / RM_NR * RM_TILE + (j + c) % RM_NR] = sums[c];
      w->col_norm[j + c] = sums[N + c];
    }
  }
}

/* Computes the first row of each tile, and the sums of squares, and returns 1 where this file is for the block; else returns
 * 0. */
RM_FN int rm_gemv_sums(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block, const int fmt) {
  if (block->rows != 1 || p->k < RM_GEMV_MIN_K || p->a.im2col || p->b.im2col) return 0;
  if (p->b.row_stride == rm_size_of(fmt)) rm_gemv_columns_adjacent(w, p, block, fmt);
  else if (p->b.k_stride == rm_size_of(fmt) && p->a.k_stride == rm_size_of(fmt)) rm_gemv_k_adjacent(w, p, block, fmt);
  else return 0;
  return 1;
}
