/* Products of dense f32 matrices on devices with much shared memory (compute capability 9.0). Eight warps with 64 x 32
 * elements each compute a tile of 128 x 128, 16 indices k at a time. The factors come to shared memory as they are, by
 * asynchronous copies some pieces ahead (cp.async), and become binary64 when a warp takes them. So a thread's registers hold
 * accumulation chains, and their sums lie in shared memory.
 *
 * Layout: a factor whose indices k are neighbours keeps the 16 of a vector in a row of RM_A_BY_K floats; one whose vectors
 * are neighbours keeps the 128 vectors of an index in a row of RM_A_BY_VECTOR. The 32 elements of a fragment, 8 vectors by 4
 * indices, are in different banks in both: 20 v + k and 136 k + v are different modulo 32.
 *
 * Order of additions: as in dense.h. */
#pragma once

#include "dense.h"

namespace {

enum {
  RM_A_TILE = 128, /* rows and columns */
  RM_A_DEPTH = 16,
  RM_A_STAGES = 4,
  RM_A_THREADS = 256,
  RM_A_BY_K = RM_A_DEPTH + 4,
  RM_A_BY_VECTOR = RM_A_TILE + 8,
  RM_A_CHUNKS = RM_A_TILE * RM_A_DEPTH / 4 / RM_A_THREADS /* of a thread and a factor: four elements each */
};
static_assert(RM_KC % RM_A_DEPTH == 0, "a chain must end with a piece");
static_assert(RM_A_BY_VECTOR * RM_A_DEPTH <= RM_A_BY_K * RM_A_TILE, "either layout has room");

/* Tiles of 128 x COLS: warps with WARP_ROWS x 32 elements each, in parts of 16 x 8. */
template <int cols> struct async_shape {
  enum {
    ROWS = RM_A_TILE,
    COLS = cols,
    WARP_ROWS = cols == 128 ? 64 : 32,
    WARP_COLS = 32,
    ROW_PARTS = WARP_ROWS / 16,
    COL_PARTS = WARP_COLS / 8,
    SUMS = ROW_PARTS * COL_PARTS * 4 /* of a thread */
  };
  static_assert((COLS + 8) * RM_A_DEPTH <= RM_A_BY_K * COLS, "either layout has room");
  static_assert(ROWS / WARP_ROWS * (COLS / WARP_COLS) * 32 == RM_A_THREADS, "all warps have a part");
};

struct async_stage {
  float a[RM_A_BY_K * RM_A_TILE], b[RM_A_BY_K * RM_A_TILE];
};
struct alignas(16) async_memory {
  async_stage stage[RM_A_STAGES];
  double sum[async_shape<RM_A_TILE>::SUMS][RM_A_THREADS];
};

#if defined(RM_CFG_EMULATE_DEVICE)
__device__ inline async_memory &async_memory_of_block() {
  __shared__ async_memory memory;
  return memory;
}
__device__ inline void copy_async(float *to, const char *from, int bytes) {
  for (int i = 0; i < 4; i++) to[i] = 0.0f;
  __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}
__device__ inline void end_of_copies() {}
__device__ inline void await_copies() {}
#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define RM_ASYNC(...) asm volatile(__VA_ARGS__)
#else
#define RM_ASYNC(...) (void)0 /* for older devices nothing launches these kernels */
#endif
__device__ inline async_memory &async_memory_of_block() {
  extern __shared__ char memory[];
  return *reinterpret_cast<async_memory *>(memory);
}
/* Copies the first bytes of four elements, and zeros in the place of the others. */
__device__ inline void copy_async(float *to, const char *from, int bytes) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  RM_ASYNC("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  (void)address, (void)from, (void)bytes;
}
__device__ inline void end_of_copies() { RM_ASYNC("cp.async.commit_group;" :: : "memory"); }
/* Waits for all stages but the newest two. */
__device__ inline void await_copies() {
  static_assert(RM_A_STAGES == 4, "the number below");
  RM_ASYNC("cp.async.wait_group 2;" :: : "memory");
}
#undef RM_ASYNC
#endif

/* A thread's chunks of one factor: where the next ones are, how far the following ones, and how much of them there is. */
template <bool by_k> struct async_source {
  const char *at[RM_A_CHUNKS];
  int to[RM_A_CHUNKS];
  int64_t elements[RM_A_CHUNKS]; /* by_k: from the chunk's first to the end of its vector; else of vectors, at most four */
  ptrdiff_t step;
  __device__ async_source(const rm_operand &o, int64_t first, int64_t vectors, int64_t terms) {
    step = static_cast<ptrdiff_t>(RM_A_DEPTH) * o.k_stride;
    for (int c = 0; c < RM_A_CHUNKS; c++) {
      const int q = static_cast<int>(threadIdx.x) + c * RM_A_THREADS;
      const int vector = by_k ? q / (RM_A_DEPTH / 4) : q % (RM_A_TILE / 4) * 4;
      const int k = by_k ? q % (RM_A_DEPTH / 4) * 4 : q / (RM_A_TILE / 4);
      at[c] = o.base + (first + vector) * o.row_stride + k * o.k_stride;
      to[c] = by_k ? vector * RM_A_BY_K + k : k * RM_A_BY_VECTOR + vector;
      elements[c] = by_k ? first + vector < vectors ? terms - k : 0 : vectors - first - vector;
      if (!by_k && k >= terms) elements[c] = 0;
    }
  }
  /* k0: the first index of the piece. */
  __device__ void copy(float *to_memory, const char *base, int64_t k0, int64_t terms) {
    for (int c = 0; c < RM_A_CHUNKS; c++) {
      const int k = (static_cast<int>(threadIdx.x) + c * RM_A_THREADS) / (RM_A_TILE / 4);
      const int64_t n = by_k ? elements[c] - k0 : k0 + k < terms ? elements[c] : 0;
      const int bytes = n >= 4 ? 16 : n > 0 ? static_cast<int>(n) * 4 : 0;
      copy_async(to_memory + to[c], bytes ? at[c] : base, bytes);
      at[c] += step;
    }
  }
};
template <bool by_k> __device__ inline double async_element(const float *x, int vector, int k) {
  return static_cast<double>(by_k ? x[vector * RM_A_BY_K + k] : x[k * RM_A_BY_VECTOR + vector]);
}

/* c += A B, 16 x 8 times 8 x 8 (dense.h says which elements a thread holds). */
#if RM_HAS_MMA
__device__ inline void multiply_async(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  multiply_part(c, a, b);
#endif
}
#endif

/* Where this thread's elements of a tile are. */
template <class S> struct async_part {
  int thread, term, vector, row, col;
  __device__ async_part() : thread(static_cast<int>(threadIdx.x)) {
    const int lane = thread % 32, warp = thread / 32;
    term = lane % 4, vector = lane / 4;
    row = warp / (S::COLS / S::WARP_COLS) * S::WARP_ROWS, col = warp % (S::COLS / S::WARP_COLS) * S::WARP_COLS;
  }
};

/* Multiplies the pieces of a tile, and leaves the sums of each thread's elements in `sum`, where other threads need not see
 * them. begin(piece) begins the copies of a piece, look(piece) sees it when it is there, a(piece, vector, k) and b(piece,
 * vector, k) are its elements. */
template <class S, class Begin, class Look, class A, class B>
__device__ void sums_of_pieces(int64_t pieces, double (&sum)[S::SUMS][RM_A_THREADS], Begin begin, Look look, A a, B b) {
#if RM_HAS_MMA
  const async_part<S> at;
  double chain[S::ROW_PARTS][S::COL_PARTS][4] = {};
  bool any = false; /* whether sum holds sums */
  auto begin_piece = [&](int64_t piece) {
    if (piece < pieces) begin(piece);
    end_of_copies();
  };
  auto add_chains = [&] {
    RM_UNROLL for (int s = 0; s < S::SUMS; s++) {
      double &c = chain[s / 4 / S::COL_PARTS][s / 4 % S::COL_PARTS][s % 4];
      sum[s][at.thread] = (any ? sum[s][at.thread] : 0.0) + c;
      c = 0.0;
    }
    any = true;
  };
  for (int s = 0; s < RM_A_STAGES - 1; s++) begin_piece(s);
  for (int64_t piece = 0; piece < pieces; piece++) {
    await_copies();
    __syncthreads(); /* the piece is there for all, and all have read the one before */
    begin_piece(piece + RM_A_STAGES - 1);
    look(piece);
    RM_UNROLL for (int k = 0; k < RM_A_DEPTH; k += 8) {
      double y[S::COL_PARTS][2];
      RM_UNROLL for (int j = 0; j < S::COL_PARTS; j++) RM_UNROLL for (int h = 0; h < 2; h++) y[j][h] =
          b(piece, at.col + j * 8 + at.vector, k + at.term + 4 * h);
      RM_UNROLL for (int i = 0; i < S::ROW_PARTS; i++) {
        double z[4];
        RM_UNROLL for (int e = 0; e < 4; e++) z[e] =
            a(piece, at.row + i * 16 + e % 2 * 8 + at.vector, k + at.term + e / 2 * 4);
        RM_UNROLL for (int j = 0; j < S::COL_PARTS; j++) multiply_async(chain[i][j], z, y[j]);
      }
    }
    if ((piece + 1) * RM_A_DEPTH % RM_KC == 0 && piece + 1 < pieces) add_chains();
  }
  add_chains();
#endif
}

/* Calls f(row, column, sum) for this thread's elements of a tile: in a loop, since f is long. */
template <class S, class F> __device__ void each_sum(const double (&sum)[S::SUMS][RM_A_THREADS], F f) {
  const async_part<S> at;
  for (int s = 0; s < S::SUMS; s++)
    f(at.row + s / 4 / S::COL_PARTS * 16 + s % 4 / 2 * 8 + at.vector, at.col + s / 4 % S::COL_PARTS * 8 + 2 * at.term + s % 2,
      sum[s][at.thread]);
}

/* The tiles of a batch, in groups of eight rows of tiles as in dense.h. */
__device__ inline tile async_tile_of(const dense_tiling &t, int64_t index) {
  const int64_t in_product = index % (t.rows * t.cols), group = in_product / (8 * t.cols), first = group * 8;
  const int64_t rows = t.rows - first < 8 ? t.rows - first : 8, in_group = in_product - group * 8 * t.cols;
  return tile{index / (t.rows * t.cols), (first + in_group % rows) * RM_A_TILE, in_group / rows * RM_A_TILE};
}

/* Computes the sums of a tile, then calls f(row, column, sum) for this thread's elements that C has. */
template <bool a_by_k, bool b_by_k, class F> __device__ void async_tile(const device_problem &d, const tile &at, F f) {
#if RM_HAS_MMA
  typedef async_shape<RM_A_TILE> S;
  async_memory &memory = async_memory_of_block();
  const int64_t terms = d.p.k, pieces = (terms + RM_A_DEPTH - 1) / RM_A_DEPTH;
  rm_operand a = d.p.a, b = d.p.b;
  a.base += at.which * d.p.next_a, b.base += at.which * d.p.next_b;
  async_source<a_by_k> from_a(a, at.row, d.p.m, terms);
  async_source<b_by_k> from_b(b, at.col, d.p.n, terms);
  auto stage = [&](int64_t piece) -> async_stage & { return memory.stage[piece % RM_A_STAGES]; };
  sums_of_pieces<S>(
      pieces, memory.sum,
      [&](int64_t piece) {
        from_a.copy(stage(piece).a, a.base, piece * RM_A_DEPTH, terms);
        from_b.copy(stage(piece).b, b.base, piece * RM_A_DEPTH, terms);
      },
      [](int64_t) {}, [&](int64_t piece, int vector, int k) { return async_element<a_by_k>(stage(piece).a, vector, k); },
      [&](int64_t piece, int vector, int k) { return async_element<b_by_k>(stage(piece).b, vector, k); });
  __syncthreads(); /* the next tile's pieces take the place of this one's */
  each_sum<S>(memory.sum, [&](int i, int j, double sum) {
    if (at.row + i < d.p.m && at.col + j < d.p.n) f(at.row + i, at.col + j, sum);
  });
#endif
}

} // namespace
