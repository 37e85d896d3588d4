/* Convolutions of f32 as products of im2col views on devices with much shared memory: tiles of 128 x 128 elements with 227
 * kB (compute capability 9.0), of 128 x 64 with 133 kB (8.0 too). The matrix of patches is never stored: each element of a
 * piece of 16 indices k comes to shared memory by an asynchronous copy of its own, some pieces ahead, or as a zero in the
 * place of padding. As in dense_async.h numbers become binary64 when a warp takes them, and sums of chains lie in shared
 * memory.
 *
 * Where an element is depends on its vector and on its index k: an offset and up to three coordinates of each are added.
 * Those of all k are listed once by a kernel before (gather_kernel), 24 bytes each; those of a tile's vectors are in shared
 * memory.
 *
 * Layout of a piece: as in dense_async.h. Norms: each vector has a thread, which adds the squares of its elements, K in one
 * chain (pack.h allows for K + 5 roundings). Order of additions: as in dense.h. */
#ifndef RM_CUDA_CONV_ASYNC_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_CONV_ASYNC_H

#include <initializer_list>

#include "dense_async.h"

namespace {

/* A vector, or an index k: bytes from the operand's base, and coordinates. Coordinates that are FAR are outside. */
struct gather_spot {
  int64_t offset;
  int32_t at[RM_COORDINATES + 1];
};
enum { RM_G_FAR = -(1 << 30), RM_G_MOST = 1 << 29 }; /* sums of two coordinates below MOST fit 32 bits */
static_assert(RM_COORDINATES == 3, "a spot has 24 bytes");

/* An operand: its listed indices, and the range of the coordinates. */
struct gather_side {
  const gather_spot *index;
  int32_t size[RM_COORDINATES];
};

/* Whether all coordinates of a view are below MOST. */
inline bool has_near_coordinates(const rm_operand &o) {
  if (!o.im2col) return true;
  for (int c = 0; c < RM_COORDINATES; c++) {
    __int128 reach = o.im2col->start[c] < 0 ? -o.im2col->start[c] : o.im2col->start[c];
    for (const rm_axis *axis : {&o.im2col->rows, &o.im2col->k})
      for (int d = 0; d < RM_DIMS; d++) {
        const int64_t step = axis->step[d] < 0 ? -axis->step[d] : axis->step[d];
        if (axis->dim[d] == c) reach += static_cast<__int128>(axis->count[d]) * step;
      }
    if (reach >= RM_G_MOST || o.im2col->size[c] >= RM_G_MOST) return false;
  }
  return true;
}
inline gather_side gather_side_of(const rm_operand &o, const gather_spot *index) {
  gather_side s = {index, {1, 1, 1}}; /* without a view all coordinates are 0 */
  for (int c = 0; c < RM_COORDINATES && o.im2col; c++) s.size[c] = static_cast<int32_t>(o.im2col->size[c]);
  return s;
}

__device__ inline gather_spot gather_spot_of(const rm_operand &o, int64_t i, bool is_k) {
  const spot s = spot_of(o, i, is_k);
  gather_spot g = {s.offset, {0, 0, 0, 0}};
  for (int c = 0; c < RM_COORDINATES; c++) g.at[c] = static_cast<int32_t>(s.at[c]);
  return g;
}
__device__ inline rm_operand gathered(rm_operand o, const rm_im2col *view, int64_t bytes) {
  o.base += bytes;
  if (o.im2col) o.im2col = view;
  return o;
}

/* Lists the indices k of both operands. */
__global__ void __launch_bounds__(RM_BLOCK)
    gather_kernel(const __grid_constant__ device_problem d, gather_spot *of_a, gather_spot *of_b) {
  const rm_operand a = gathered(d.p.a, &d.a, 0), b = gathered(d.p.b, &d.b, 0);
  const int64_t step = static_cast<int64_t>(gridDim.x) * RM_BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * RM_BLOCK + threadIdx.x; i < 2 * d.p.k; i += step)
    if (i < d.p.k) of_a[i] = gather_spot_of(a, i, true);
    else of_b[i - d.p.k] = gather_spot_of(b, i - d.p.k, true);
}

template <int cols> struct alignas(16) conv_memory {
  struct {
    float a[RM_A_BY_K * RM_A_TILE], b[RM_A_BY_K * cols];
  } stage[RM_A_STAGES];
  double sum[async_shape<cols>::SUMS][RM_A_THREADS], norm[RM_A_TILE + cols];
  gather_spot a[RM_A_TILE], b[cols];
};

#if defined(RM_CFG_EMULATE_DEVICE)
template <int cols> __device__ conv_memory<cols> &conv_memory_of_block() {
  __shared__ conv_memory<cols> memory;
  return memory;
}
__device__ inline void copy_word_async(float *to, const char *from, bool inside) {
  *to = 0.0f;
  if (inside) __builtin_memcpy(to, from, 4);
}
#else
template <int cols> __device__ conv_memory<cols> &conv_memory_of_block() {
  extern __shared__ char memory[];
  return *reinterpret_cast<conv_memory<cols> *>(memory);
}
__device__ inline void copy_word_async(float *to, const char *from, bool inside) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = inside ? 4 : 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
#endif
  (void)address, (void)from, (void)bytes;
}
#endif

/* Where an element of a piece is in its stage. */
template <bool by_k, int vectors> __device__ inline int conv_place(int vector, int k) {
  return by_k ? vector * RM_A_BY_K + k : k * (vectors + 8) + vector;
}

/* Begins the copies of a piece of `vectors` vectors. by_k: neighbouring threads have neighbouring indices, not vectors. */
template <bool by_k, int vectors>
__device__ void gather_piece(float *to, const char *base, const gather_side &s, const gather_spot *vector_spots, int64_t k0,
                             int64_t terms) {
  const int t = static_cast<int>(threadIdx.x);
  RM_UNROLL for (int c = 0; c < vectors * RM_A_DEPTH / RM_A_THREADS; c++) {
    const int vector = by_k ? t / RM_A_DEPTH + c * (RM_A_THREADS / RM_A_DEPTH) : t % vectors;
    const int k = by_k ? t % RM_A_DEPTH : t / vectors + c * (RM_A_THREADS / vectors);
    const bool is_term = k0 + k < terms;
    const gather_spot &v = vector_spots[vector], &i = s.index[is_term ? k0 + k : 0];
    bool inside = is_term;
    RM_UNROLL for (int e = 0; e < RM_COORDINATES; e++) inside =
        inside && static_cast<uint32_t>(v.at[e] + i.at[e]) < static_cast<uint32_t>(s.size[e]);
    copy_word_async(to + conv_place<by_k, vectors>(vector, k), inside ? base + v.offset + i.offset : base, inside);
  }
}

/* Computes the sums of a tile, then calls f(row, column, sum, norm of the row, of the column) for this thread's elements
 * that C has. */
template <int cols, bool a_by_k, bool b_by_k, class F>
__device__ void conv_tile(const device_problem &d, const tile &at, const gather_side &side_a, const gather_side &side_b,
                          F f) {
#if RM_HAS_MMA
  typedef async_shape<cols> S;
  conv_memory<cols> &memory = conv_memory_of_block<cols>();
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t terms = d.p.k, pieces = (terms + RM_A_DEPTH - 1) / RM_A_DEPTH;
  const rm_operand a = gathered(d.p.a, &d.a, at.which * d.p.next_a), b = gathered(d.p.b, &d.b, at.which * d.p.next_b);
  for (int v = thread; v < S::ROWS + S::COLS; v += RM_A_THREADS) {
    const bool is_a = v < S::ROWS;
    const int64_t i = is_a ? at.row + v : at.col + v - S::ROWS;
    gather_spot spot = {0, {RM_G_FAR, 0, 0, 0}};
    if (i < (is_a ? d.p.m : d.p.n)) spot = gather_spot_of(is_a ? a : b, i, false);
    (is_a ? memory.a[v] : memory.b[v - S::ROWS]) = spot;
  }
  __syncthreads();
  double square = 0.0;
  auto stage = [&](int64_t piece) -> decltype(memory.stage[0]) & { return memory.stage[piece % RM_A_STAGES]; };
  sums_of_pieces<S>(
      pieces, memory.sum,
      [&](int64_t piece) {
        gather_piece<a_by_k, S::ROWS>(stage(piece).a, a.base, side_a, memory.a, piece * RM_A_DEPTH, terms);
        gather_piece<b_by_k, S::COLS>(stage(piece).b, b.base, side_b, memory.b, piece * RM_A_DEPTH, terms);
      },
      [&](int64_t piece) { /* the norms */
                           if (thread >= S::ROWS + S::COLS) return;
                           const auto &x = stage(piece);
                           RM_UNROLL for (int k = 0; k < RM_A_DEPTH; k++) {
                             const float v = thread < S::ROWS ? x.a[conv_place<a_by_k, S::ROWS>(thread, k)]
                                                              : x.b[conv_place<b_by_k, S::COLS>(thread - S::ROWS, k)];
                             square = vf64_mad(static_cast<double>(v), static_cast<double>(v), square);
                           }
      },
      [&](int64_t piece, int vector, int k) {
        return static_cast<double>(stage(piece).a[conv_place<a_by_k, S::ROWS>(vector, k)]);
      },
      [&](int64_t piece, int vector, int k) {
        return static_cast<double>(stage(piece).b[conv_place<b_by_k, S::COLS>(vector, k)]);
      });
  if (thread < S::ROWS + S::COLS) memory.norm[thread] = vf64_sqrt(square);
  __syncthreads();
  each_sum<S>(memory.sum, [&](int i, int j, double sum) {
    if (at.row + i < d.p.m && at.col + j < d.p.n) f(at.row + i, at.col + j, sum, memory.norm[i], memory.norm[S::ROWS + j]);
  });
  __syncthreads(); /* the next tile's vectors and norms take the place of this one's */
#endif
}

} // namespace

#endif
