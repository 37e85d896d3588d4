/* Products of dense matrices (tiles.h has those of im2col views): eight warps with 32 x 32 elements each compute a tile of
 * 128 x 64, 16 indices k at a time from one of two buffers in shared memory, while the next 16 are loaded into registers.
 *
 * Layout: index k of a piece is row 4 (k mod 4) + k/4 of its buffer, for both factors alike, so that four elements which a
 * thread has loaded from one vector go to four rows; vector v is in column v ^ 4 (row mod 4). Both serve to avoid bank
 * conflicts: a half warp that stores four neighbouring indices or vectors, or loads a fragment, accesses sixteen different
 * pairs of banks.
 *
 * Order of additions: the 16 terms of a piece go into an accumulation chain in any order, and a chain ends after RM_KC terms,
 * as the bound of blas/gemm/bound_b64.h requires. */
#pragma once

#include "loads.h"
#include "tiles.h"

namespace {

enum {
  RM_D_ROWS = 128,
  RM_D_COLS = 64,
  RM_D_DEPTH = 16,
  RM_D_THREADS = 256,
  RM_D_WARP = 32,  /* rows and columns of a warp: ROW_PARTS x COL_PARTS pieces of 16 x 8 */
  RM_D_ROW_PARTS = RM_D_WARP / 16,
  RM_D_COL_PARTS = RM_D_WARP / 8,
  RM_D_QUADS = (RM_D_ROWS + RM_D_COLS) * RM_D_DEPTH / 4 / RM_D_THREADS, /* of a thread: the first ones of A, the last of B */
  RM_D_QUADS_A = RM_D_ROWS * RM_D_DEPTH / 4 / RM_D_THREADS,
  RM_D_AHEAD = 8 /* elements that a thread loads before it adds their squares */
};
static_assert(RM_KC % RM_D_DEPTH == 0, "a chain must end with a piece");
static_assert(RM_D_QUADS_A * RM_D_THREADS * 4 == RM_D_ROWS * RM_D_DEPTH, "a quad is of one factor");

struct dense_piece {
  double a[RM_D_DEPTH][RM_D_ROWS], b[RM_D_DEPTH][RM_D_COLS];
};

/* How a factor is loaded. by_k: indices k, not vectors, are neighbours in memory. in_quads: four neighbours form an aligned
 * word. */
struct dense_side {
  bool by_k, in_quads;
};
inline dense_side dense_side_of(const rm_operand &o, ptrdiff_t next, int fmt) {
  const ptrdiff_t size = fmt == RM_FORMAT_F32 ? 4 : 2, step = o.k_stride < 0 ? -o.k_stride : o.k_stride,
                  vector = o.row_stride < 0 ? -o.row_stride : o.row_stride;
  dense_side s;
  s.by_k = step < vector;
  const ptrdiff_t near = s.by_k ? o.k_stride : o.row_stride, far = s.by_k ? o.row_stride : o.k_stride;
  s.in_quads =
      near == size &&
      (reinterpret_cast<uintptr_t>(o.base) | static_cast<uintptr_t>(far | next)) % static_cast<uintptr_t>(4 * size) == 0;
  return s;
}

/* Four elements as bits. */
struct dense_quad {
  uint32_t w[4];
};
struct alignas(8) four_halves {
  uint16_t h[4];
};

/* Loads the elements of quad q of a piece; zeros beyond the factor's ends. */
template <int fmt, int vectors_of_tile>
__device__ dense_quad load_quad(const rm_operand &o, const dense_side &s, bool is_aligned, int q, int64_t first,
                                int64_t vectors, int64_t k0, int64_t terms) {
  const int64_t vector = first + (s.by_k ? q / (RM_D_DEPTH / 4) : q % (vectors_of_tile / 4) * 4);
  const int64_t k = k0 + (s.by_k ? q % (RM_D_DEPTH / 4) * 4 : q / (vectors_of_tile / 4));
  const char *p = o.base + vector * o.row_stride + k * o.k_stride;
  dense_quad out = {{0, 0, 0, 0}};
  if (s.in_quads && (s.by_k ? vector < vectors && k + 4 <= terms : k < terms && vector + 4 <= vectors)) {
    if (fmt == RM_F32) {
      const packed_elements v = *reinterpret_cast<const packed_elements *>(p);
      for (int j = 0; j < 4; j++) out.w[j] = v.word[j];
    } else {
      const four_halves v = *reinterpret_cast<const four_halves *>(p);
      for (int j = 0; j < 4; j++) out.w[j] = v.h[j];
    }
    return out;
  }
  const ptrdiff_t next = s.by_k ? o.k_stride : o.row_stride;
  for (int j = 0; j < 4; j++)
    if (vector + (s.by_k ? 0 : j) < vectors && k + (s.by_k ? j : 0) < terms)
      out.w[j] = fmt == RM_F32 ? element<uint32_t>::load(p + j * next, is_aligned)
                               : element<uint16_t>::load(p + j * next, is_aligned);
  return out;
}

__device__ inline int row_of_index(int k) { return k % 4 * 4 + k / 4; }
__device__ inline int column_of_vector(int vector, int row) { return vector ^ (row % 4 * 4); }

template <int fmt, int vectors_of_tile>
__device__ void store_quad(double (*x)[vectors_of_tile], const dense_side &s, int q, const dense_quad &v) {
  if (s.by_k) {
    const int vector = q / (RM_D_DEPTH / 4), k4 = q % (RM_D_DEPTH / 4);
    for (int j = 0; j < 4; j++)
      x[j * 4 + k4][column_of_vector(vector, k4)] = rm_to_double(v.w[j], fmt); /* row_of_index(4 k4 + j) */
  } else {
    const int vector = q % (vectors_of_tile / 4) * 4, row = row_of_index(q / (vectors_of_tile / 4));
    double *to = x[row] + column_of_vector(vector, row);
    for (int j = 0; j < 4; j++) to[j] = rm_to_double(v.w[j], fmt);
  }
}

/* The elements of a tile that a thread holds: parts of 16 x 8, each two results of mma.m8n8k4 (tiles.h) above each other.
 * Element c < 4 of a part is in row 8 (c / 2) + lane / 4 and column 2 (lane mod 4) + c mod 2. */
__device__ inline int dense_row(int i, int c) {
  return static_cast<int>(threadIdx.x) / 32 / (RM_D_COLS / RM_D_WARP) * RM_D_WARP + i * 16 + c / 2 * 8 +
         static_cast<int>(threadIdx.x) % 32 / 4;
}
__device__ inline int dense_col(int j, int c) {
  return static_cast<int>(threadIdx.x) / 32 % (RM_D_COLS / RM_D_WARP) * RM_D_WARP + j * 8 +
         static_cast<int>(threadIdx.x) % 4 * 2 + c % 2;
}

typedef double dense_sums[RM_D_ROW_PARTS][RM_D_COL_PARTS][4];

#if RM_HAS_MMA
/* c += A B, 16 x 8 times 8 x 8, by four instructions. A thread holds the indices lane mod 4 and lane mod 4 + 4: of A in rows
 * lane/4 and lane/4 + 8, of B in column lane/4. */
__device__ inline void multiply_part(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  for (int k = 0; k < 2; k++)
    for (int half = 0; half < 2; half++) {
      double sums[2] = {c[2 * half], c[2 * half + 1]};
      multiply_mma(sums, a[2 * k + half], b[k]);
      c[2 * half] = sums[0], c[2 * half + 1] = sums[1];
    }
}
#endif

/* Adds the products of one piece to the accumulation chains. */
__device__ inline void multiply_dense(const dense_piece &x, dense_sums &chain) {
#if RM_HAS_MMA
  const int lane = static_cast<int>(threadIdx.x) % 32, term = lane % 4, row = dense_row(0, 0),
            col = dense_col(0, 0) - 2 * term + lane / 4;
  for (int k = 0; k < RM_D_DEPTH; k += 8) {
    double a[RM_D_ROW_PARTS][4], b[RM_D_COL_PARTS][2];
    for (int i = 0; i < RM_D_ROW_PARTS; i++)
      for (int e = 0; e < 4; e++) /* row k + term + 4 (e / 2), which is `term` modulo 4 */
        a[i][e] = x.a[k + term + e / 2 * 4][column_of_vector(row + i * 16 + e % 2 * 8, term)];
    for (int j = 0; j < RM_D_COL_PARTS; j++)
      for (int e = 0; e < 2; e++) b[j][e] = x.b[k + term + e * 4][column_of_vector(col + j * 8, term)];
    for (int i = 0; i < RM_D_ROW_PARTS; i++)
      for (int j = 0; j < RM_D_COL_PARTS; j++) multiply_part(chain[i][j], a[i], b[j]);
  }
#else
  for (int k = 0; k < RM_D_DEPTH; k++)
    for (int i = 0; i < RM_D_ROW_PARTS; i++)
      for (int j = 0; j < RM_D_COL_PARTS; j++)
        for (int c = 0; c < 4; c++)
          chain[i][j][c] = vf64_mad(x.a[k][column_of_vector(dense_row(i, c), k)],
                                    x.b[k][column_of_vector(dense_col(j, c), k)], chain[i][j][c]);
#endif
}

/* The tiles of a batch, in groups of eight rows of tiles, so that tiles that run at the same time read the same vectors.
 * norms: the Euclidean norms of the m rows and n columns of each product. */
struct dense_tiling {
  int64_t rows, cols, count;
  uint32_t *undecided;
  double *norms;
  dense_side a, b;
};
__device__ inline tile dense_tile_of(const dense_tiling &t, int64_t index) {
  const int64_t in_product = index % (t.rows * t.cols), group = in_product / (8 * t.cols), first = group * 8;
  const int64_t rows = t.rows - first < 8 ? t.rows - first : 8, in_group = in_product - group * 8 * t.cols;
  return tile{index / (t.rows * t.cols), (first + in_group % rows) * RM_D_ROWS, in_group / rows * RM_D_COLS};
}

/* Computes the sums of a tile, then calls f(row, column, sum) for this thread's elements that C has. */
template <int fmt, class F>
__device__ void dense_tile(dense_piece (&piece)[2], const device_problem &d, const dense_tiling &t, const tile &at, F f) {
  const int thread = static_cast<int>(threadIdx.x);
  rm_operand a = d.p.a, b = d.p.b;
  const int64_t terms = d.p.k, m = d.p.m, n = d.p.n;
  a.base += at.which * d.p.next_a, b.base += at.which * d.p.next_b;
  dense_sums chain = {}, sum = {};
  dense_quad staged[RM_D_QUADS];
  auto prefetch = [&](int64_t k0) {
    for (int q = 0; q < RM_D_QUADS; q++)
      staged[q] = q < RM_D_QUADS_A
                      ? load_quad<fmt, RM_D_ROWS>(a, t.a, d.a_aligned, thread + q * RM_D_THREADS, at.row, m, k0, terms)
                      : load_quad<fmt, RM_D_COLS>(b, t.b, d.b_aligned, thread + (q - RM_D_QUADS_A) * RM_D_THREADS, at.col, n,
                                                  k0, terms);
  };
  auto put = [&](dense_piece &to) {
    for (int q = 0; q < RM_D_QUADS; q++)
      if (q < RM_D_QUADS_A) store_quad<fmt, RM_D_ROWS>(to.a, t.a, thread + q * RM_D_THREADS, staged[q]);
      else store_quad<fmt, RM_D_COLS>(to.b, t.b, thread + (q - RM_D_QUADS_A) * RM_D_THREADS, staged[q]);
  };
  prefetch(0);
  put(piece[0]);
  __syncthreads();
  int now = 0;
  for (int64_t k0 = 0; k0 < terms; k0 += RM_D_DEPTH, now ^= 1) {
    const bool more = k0 + RM_D_DEPTH < terms;
    if (more) prefetch(k0 + RM_D_DEPTH);
    multiply_dense(piece[now], chain);
    if ((k0 + RM_D_DEPTH) % RM_KC == 0 || !more)
      for (int i = 0; i < RM_D_ROW_PARTS; i++)
        for (int j = 0; j < RM_D_COL_PARTS; j++)
          for (int c = 0; c < 4; c++) sum[i][j][c] += chain[i][j][c], chain[i][j][c] = 0.0;
    if (more) put(piece[now ^ 1]); /* all threads have read that buffer before the last barrier */
    __syncthreads();
  }
  for (int i = 0; i < RM_D_ROW_PARTS; i++)
    for (int j = 0; j < RM_D_COL_PARTS; j++)
      for (int c = 0; c < 4; c++) {
        const int64_t r = at.row + dense_row(i, c), col = at.col + dense_col(j, c);
        if (r < m && col < n) f(r, col, sum[i][j][c]);
      }
}

/* The norms of the vectors of one factor, of all products: `groups` threads a vector, with neighbouring threads on
 * neighbouring addresses. A term passes at most ceil(k/groups) roundings in its thread and min(k, groups) - 1 where threads
 * are joined, at most k + 5 in all, as pack.h requires. */
template <int fmt>
__global__ void __launch_bounds__(RM_D_THREADS)
    dense_norms(rm_operand o, dense_side s, bool is_aligned, int64_t vectors, int64_t terms, int64_t batch, ptrdiff_t next,
                double *norms, int64_t next_norms) {
  __shared__ double part[RM_D_THREADS];
  const int groups = 32, together = RM_D_THREADS / groups, t = static_cast<int>(threadIdx.x);
  const int group = s.by_k ? t % groups : t / together, vector = s.by_k ? t / groups : t % together;
  const int64_t blocks = (vectors + together - 1) / together;
  for (int64_t index = blockIdx.x; index < blocks * batch; index += gridDim.x) {
    const int64_t which = index / blocks, l = index % blocks * together + vector;
    const char *p = o.base + which * next + l * o.row_stride;
    double square = 0.0;
    if (l < vectors)
      for (int64_t k = group; k < terms; k += RM_D_AHEAD * groups) {
        double x[RM_D_AHEAD];
        RM_UNROLL for (int a = 0; a < RM_D_AHEAD; a++) x[a] =
            k + a * groups < terms ? read<fmt>(p + (k + a * groups) * o.k_stride, is_aligned) : 0.0;
        RM_UNROLL for (int a = 0; a < RM_D_AHEAD; a++) square = vf64_mad(x[a], x[a], square);
      }
    __syncthreads();
    part[t] = square;
    __syncthreads();
    if (group == 0 && l < vectors) {
      for (int g = 1; g < groups; g++) square += part[s.by_k ? t + g : t + g * together];
      norms[which * next_norms + l] = vf64_sqrt(square);
    }
  }
}

} // namespace
