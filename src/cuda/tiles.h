/* What the kernels of matrix products share: a problem (blas/gemm/views.h) as a kernel's parameter, its operands piece by
 * piece in shared memory, and which elements of a tile a thread has. A vector is a row of A or a column of B. */
#pragma once

#include "undecided.h"

#include "engine.h"

/* 1: the kernels multiply by mma instructions of binary64 (sm_80 and up). */
#if defined(RM_CFG_EMULATE_DEVICE)
#if defined(RM_CFG_EMULATE_MMA)
#define RM_HAS_MMA 1
#else
#define RM_HAS_MMA 0
#endif
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define RM_HAS_MMA 1
#else
#define RM_HAS_MMA 0
#endif

namespace {

enum {
  RM_T = 64,          /* a block of threads computes T x T elements */
  RM_T_THREADS = 256, /* 8 warps, each with WARP_ROWS x WARP_COLS elements: ROW_PARTS x COL_PARTS squares of 8 x 8 */
  RM_WARP_ROWS = 32,
  RM_WARP_COLS = 16,
  RM_ROW_PARTS = RM_WARP_ROWS / 8,
  RM_COL_PARTS = RM_WARP_COLS / 8,
  RM_DEPTH =
      16, /* indices k in shared memory at a time; divides RM_KC, so that accumulation chains end where the bound says */
  RM_PITCH = RM_T + 4 /* 4 indices k of 8 vectors are in different banks */
};
static_assert(RM_KC % RM_DEPTH == 0, "a chain must end with a piece");

/* Whether all elements are at multiples of their size; `bits` has those of all strides. */
inline bool on_words(const char *base, ptrdiff_t bits, int fmt) {
  const uintptr_t size = fmt == RM_FORMAT_F64 ? 8 : fmt == RM_FORMAT_F32 ? 4 : 2;
  return (reinterpret_cast<uintptr_t>(base) | static_cast<uintptr_t>(bits)) % size == 0;
}
inline ptrdiff_t bits_of(const rm_axis &axis) {
  ptrdiff_t bits = 0;
  for (int d = 0; d < RM_DIMS; d++) bits |= axis.stride[d];
  return bits;
}
inline ptrdiff_t axis_bytes(ptrdiff_t vector, ptrdiff_t step, const rm_im2col *im2col) {
  return im2col ? bits_of(im2col->rows) | bits_of(im2col->k) : vector | step;
}

/* The problem with all that it points to. */
struct device_problem {
  rm_matmul_problem p;
  rm_im2col a, b;
  rm_axis rows, cols;
  rm_alpha_beta alpha_beta;
  bool a_aligned, b_aligned, c_aligned, bias_aligned;
};

inline device_problem device_problem_of(const rm_matmul_problem *p) {
  device_problem d = {};
  const rm_matmul_problem &q = *p;
  d.p = q;
  if (q.a.im2col) d.a = *q.a.im2col;
  if (q.b.im2col) d.b = *q.b.im2col;
  if (q.c.rows) d.rows = *q.c.rows;
  if (q.c.cols) d.cols = *q.c.cols;
  if (q.alpha_beta) d.alpha_beta = *q.alpha_beta;
  d.a_aligned = on_words(q.a.base, q.next_a | axis_bytes(q.a.row_stride, q.a.k_stride, q.a.im2col), q.fmt);
  d.b_aligned = on_words(q.b.base, q.next_b | axis_bytes(q.b.row_stride, q.b.k_stride, q.b.im2col), q.fmt);
  d.bias_aligned = on_words(q.bias.base, q.next_bias | q.bias.row | q.bias.col, q.fmt);
  d.c_aligned = on_words(
      q.c.base, q.next_c | (q.c.rows ? bits_of(*q.c.rows) : q.c.row) | (q.c.cols ? bits_of(*q.c.cols) : q.c.col), q.out_fmt);
  return d;
}

/* Product `which` of the batch; d is the kernel's parameter. */
__device__ inline rm_matmul_problem problem_of(const device_problem &d, int64_t which) {
  rm_matmul_problem p = d.p;
  p.a.base += which * p.next_a, p.b.base += which * p.next_b, p.c.base += which * p.next_c;
  if (p.bias.base) p.bias.base += which * p.next_bias;
  if (p.a.im2col) p.a.im2col = &d.a;
  if (p.b.im2col) p.b.im2col = &d.b;
  if (p.c.rows) p.c.rows = &d.rows;
  if (p.c.cols) p.c.cols = &d.cols;
  if (p.alpha_beta) p.alpha_beta = &d.alpha_beta;
  return p;
}
__device__ inline int64_t along(const rm_axis *axis, ptrdiff_t stride, int64_t i) {
  return axis ? rm_im2col_place_of(axis, i).offset : i * stride;
}
__device__ inline char *address_in_c(const rm_matmul_problem &p, int64_t r, int64_t c) {
  return p.c.base + along(p.c.rows, p.c.row, r) + along(p.c.cols, p.c.col, c);
}

/* Where a vector or an index k is: its offset in bytes and, in an im2col view, its coordinates. */
struct spot {
  int64_t offset, at[RM_COORDINATES];
};
__device__ inline spot spot_of(const rm_operand &o, int64_t i, bool is_k) {
  spot s = {};
  if (!o.im2col) {
    s.offset = i * (is_k ? o.k_stride : o.row_stride);
    return s;
  }
  const rm_im2col_place q = rm_im2col_place_of(is_k ? &o.im2col->k : &o.im2col->rows, i);
  s.offset = q.offset;
  for (int c = 0; c < RM_COORDINATES; c++) s.at[c] = q.at[c] + (is_k ? 0 : o.im2col->start[c]);
  return s;
}

template <int fmt> __device__ double read(const char *p, bool is_aligned) {
  if (fmt == RM_F64) return element<double>::load(p, is_aligned);
  if (fmt == RM_F32) return static_cast<double>(element<float>::load(p, is_aligned));
  const uint16_t h = element<uint16_t>::load(p, is_aligned);
  return fmt == RM_F16 ? vf64_load_f16(&h) : vf64_load_bf16(&h);
}

/* Stores the first bytes of `bits` to p. */
__device__ inline void write(char *p, const char *bits, int size, bool is_aligned) {
  uint64_t d;
  uint32_t s;
  uint16_t h;
  if (size == 8) __builtin_memcpy(&d, bits, 8), element<uint64_t>::store(p, d, is_aligned);
  else if (size == 4) __builtin_memcpy(&s, bits, 4), element<uint32_t>::store(p, s, is_aligned);
  else __builtin_memcpy(&h, bits, 2), element<uint16_t>::store(p, h, is_aligned);
}

/* One factor of a tile: T vectors, DEPTH indices k at a time. */
struct side {
  spot vector[RM_T], index[RM_DEPTH];
  double x[RM_DEPTH][RM_PITCH];
};

__device__ inline void find_vectors(side &s, const rm_operand &o, int64_t first, int64_t vectors) {
  const int t = static_cast<int>(threadIdx.x);
  if (t < RM_T && first + t < vectors) s.vector[t] = spot_of(o, first + t, false);
}
__device__ inline void find_indices(side &s, const rm_operand &o, int64_t k0, int64_t terms, int t) {
  if (t >= 0 && t < RM_DEPTH && k0 + t < terms) s.index[t] = spot_of(o, k0 + t, true);
}

/* The element at an index k of a vector; 0 in the place of padding. */
template <int fmt>
__device__ double im2col_element(const rm_operand &o, const spot &vector, const spot &index, bool is_aligned) {
  if (o.im2col)
    for (int c = 0; c < RM_COORDINATES; c++) {
      const int64_t x = vector.at[c] + index.at[c];
      if (x < 0 || x >= o.im2col->size[c]) return 0.0;
    }
  return read<fmt>(o.base + vector.offset + index.offset, is_aligned);
}

/* Whether neighbours along k are nearer in memory than vectors. */
__host__ __device__ inline bool is_by_k(const rm_operand &o) {
  if (o.im2col) return !o.im2col->rows_adjacent;
  return (o.k_stride < 0 ? -o.k_stride : o.k_stride) < (o.row_stride < 0 ? -o.row_stride : o.row_stride);
}

/* Loads DEPTH indices from k0 on; what lies outside is zero. */
template <int fmt>
__device__ void load_piece(side &s, const rm_operand &o, int64_t first, int64_t vectors, int64_t k0, int64_t terms,
                           bool is_aligned) {
  const bool by_k = is_by_k(o);
  for (int e = static_cast<int>(threadIdx.x); e < RM_T * RM_DEPTH; e += RM_T_THREADS) {
    const int k = by_k ? e % RM_DEPTH : e / RM_T, l = by_k ? e / RM_DEPTH : e % RM_T;
    const bool inside = first + l < vectors && k0 + k < terms;
    s.x[k][l] = inside ? im2col_element<fmt>(o, s.vector[l], s.index[k], is_aligned) : 0.0;
  }
}

/* The same as a function of its own: beside the sums of b64_tiles, which take most registers, its addresses would lie in
 * memory. */
template <int fmt>
RM_LONG void load_piece_apart(side &s, const rm_operand &o, int64_t first, int64_t vectors, int64_t k0, int64_t terms,
                              bool is_aligned) {
  load_piece<fmt>(s, o, first, vectors, k0, terms, is_aligned);
}

/* Element (i, j, h) of a thread, i < ROW_PARTS, j < COL_PARTS, h < 2: its row and column in the tile. As mma.m8n8k4 has them:
 * lane l has row l/4 and columns 2 (l % 4) + h of each square of 8 x 8; of the left factor it gives (row l/4, index l % 4),
 * of the right one (index l % 4, column l/4). */
__device__ inline int warp_row() { return static_cast<int>(threadIdx.x) / 32 / (RM_T / RM_WARP_COLS) * RM_WARP_ROWS; }
__device__ inline int warp_col() { return static_cast<int>(threadIdx.x) / 32 % (RM_T / RM_WARP_COLS) * RM_WARP_COLS; }
__device__ inline int row_of(int i) { return warp_row() + i * 8 + static_cast<int>(threadIdx.x) % 32 / 4; }
__device__ inline int col_of(int j, int h) { return warp_col() + j * 8 + 2 * (static_cast<int>(threadIdx.x) % 4) + h; }

#if RM_HAS_MMA && !defined(RM_CFG_EMULATE_DEVICE)
/* c += A B, 8 x 4 times 4 x 8, by a warp. */
__device__ inline void multiply_mma(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}
#endif

/* Adds the products of one piece to the accumulation chains. */
__device__ inline void multiply_piece(const side &a, const side &b, double (&chain)[RM_ROW_PARTS][RM_COL_PARTS][2]) {
#if RM_HAS_MMA
  const int vector = static_cast<int>(threadIdx.x) % 32 / 4, index = static_cast<int>(threadIdx.x) % 4;
  for (int k = 0; k < RM_DEPTH; k += 4) {
    double x[RM_ROW_PARTS], y[RM_COL_PARTS];
    for (int i = 0; i < RM_ROW_PARTS; i++) x[i] = a.x[k + index][warp_row() + i * 8 + vector];
    for (int j = 0; j < RM_COL_PARTS; j++) y[j] = b.x[k + index][warp_col() + j * 8 + vector];
    for (int i = 0; i < RM_ROW_PARTS; i++)
      for (int j = 0; j < RM_COL_PARTS; j++) multiply_mma(chain[i][j], x[i], y[j]);
  }
#else
  for (int k = 0; k < RM_DEPTH; k++) {
    double x[RM_ROW_PARTS], y[RM_COL_PARTS][2];
    for (int i = 0; i < RM_ROW_PARTS; i++) x[i] = a.x[k][row_of(i)];
    for (int j = 0; j < RM_COL_PARTS; j++)
      for (int h = 0; h < 2; h++) y[j][h] = b.x[k][col_of(j, h)];
    for (int i = 0; i < RM_ROW_PARTS; i++)
      for (int j = 0; j < RM_COL_PARTS; j++)
        for (int h = 0; h < 2; h++) chain[i][j][h] = vf64_mad(x[i], y[j][h], chain[i][j][h]);
  }
#endif
}

/* The tiles of a batch, and a bitmap of undecided elements: the map of undecided.h, from which they are listed later. */
struct tiling {
  int64_t rows, cols, count; /* tiles of a product; of all */
  uint32_t *undecided;
};
struct tile {
  int64_t which, row, col; /* product; its first element */
};
__device__ inline tile tile_of(const tiling &t, int64_t index) {
  const int64_t in_product = index % (t.rows * t.cols);
  return tile{index / (t.rows * t.cols), in_product / t.cols * RM_T, in_product % t.cols * RM_T};
}
__device__ inline void mark_undecided(const tiling &t, const rm_matmul_problem &p, int64_t which, int64_t r, int64_t c) {
  const int64_t bit = (which * p.m + r) * p.n + c;
  atomicOr(t.undecided + bit / 32, 1u << (bit % 32));
}

/* Calls f(k0) when each piece of DEPTH indices, from k0 on, is in a and b, with a barrier on either side. */
template <int fmt, class F>
__device__ void each_piece(side &a, side &b, const device_problem &d, const rm_matmul_problem &p, const tile &at, F f) {
  const int t = static_cast<int>(threadIdx.x);
  find_vectors(a, p.a, at.row, p.m);
  find_vectors(b, p.b, at.col, p.n);
  for (int64_t k0 = 0; k0 < p.k; k0 += RM_DEPTH) {
    find_indices(a, p.a, k0, p.k, t - RM_T);
    find_indices(b, p.b, k0, p.k, t - 2 * RM_T);
    __syncthreads();
    constexpr auto load = fmt == RM_F64 ? load_piece<fmt> : load_piece_apart<fmt>;
    load(a, p.a, at.row, p.m, k0, p.k, d.a_aligned);
    load(b, p.b, at.col, p.n, k0, p.k, d.b_aligned);
    __syncthreads();
    f(k0);
    __syncthreads();
  }
}

/* Calls f(i, j, h, row, column) for this thread's elements that C has; then the tile's memory is free for the next one. */
template <class F> __device__ void each_element(const rm_matmul_problem &p, const tile &at, F f) {
  for (int i = 0; i < RM_ROW_PARTS; i++)
    for (int j = 0; j < RM_COL_PARTS; j++)
      for (int h = 0; h < 2; h++) {
        const int64_t r = at.row + row_of(i), c = at.col + col_of(j, h);
        if (r < p.m && c < p.n) f(i, j, h, r, c);
      }
  __syncthreads();
}

/* The vectors of a tile, first those of A, then those of B: one for each of the first 2 T threads. */
__device__ inline bool has_vector() { return threadIdx.x < 2 * RM_T; }
__device__ inline double vector_element(const side &a, const side &b, int k) {
  return threadIdx.x < RM_T ? a.x[k][threadIdx.x] : b.x[k][threadIdx.x - RM_T];
}

/* Runs `tiles` and then `accurate` over a problem that is not empty. */
template <class Tiles, class Accurate>
rm_status run_tiles(const device_problem &d, cudaStream_t stream, Tiles tiles, Accurate accurate) {
  const rm_matmul_problem &p = d.p;
  tiling t = {(p.m + RM_T - 1) / RM_T, (p.n + RM_T - 1) / RM_T, 0, nullptr};
  const __int128 elements = static_cast<__int128>(p.m) * p.n * p.batch;
  if (elements > INT64_MAX / 64) return RM_ERR_MEMORY; /* the bits below are more than a device has */
  t.count = t.rows * t.cols * p.batch;
  const int64_t n = static_cast<int64_t>(elements);
  const workspace work(rm_undecided_set::bytes(n), stream);
  rm_undecided_set undecided;
  const rm_status begun = undecided_begin(&undecided, work, n, false);
  if (begun) return begun;
  t.undecided = undecided.map();
  tiles(d, t, t.count < INT32_MAX ? t.count : INT32_MAX);
  const rm_status status = accurate(d, undecided);
  return status ? status : launched();
}

} // namespace
