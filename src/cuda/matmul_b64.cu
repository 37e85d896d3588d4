/* Matrix products of f32, f16 and bf16, unless integers do it (matmul_crt.cu): the CPU's accumulation chains in binary64,
 * bound and Ziv's rounding test (blas/gemm/bound_b64.h, epilogue_b64.h), over tiles in shared memory. Undecided elements are
 * marked in a bitmap. A second kernel sums them again in double-double (retry.h); a third sums those still undecided exactly
 * (exact_elements.h). */
#include "conv_async.h"
#include "dense_async.h"
#include "exact_elements.h"
#include "retry.h"

#include "../blas/gemm/epilogue_b64.h"
#include "matmul.h"

namespace {

/* The value and the error bound of an element from the sum of its accumulation chains and the norms, bias included. */
struct bounded_element {
  double c, err, bias;
};
/* An element of the bias or of C. by_words, a constant: its address is aligned. */
template <bool by_words> __device__ double number_at(const char *at, int fmt) {
  return by_words ? element_of(at, fmt, true) : rm_read_element(at, fmt);
}
template <bool by_words>
__device__ bounded_element with_bound(const rm_matmul_problem &p, int64_t i, int64_t j, double c, double row, double col) {
  double tu = rm_bound_b64(p.k), bias = 0.0, err = tu * row * col;
  if (p.bias.base) {
    bias = number_at<by_words>(p.bias.base + i * p.bias.row + j * p.bias.col, p.fmt);
    c += bias;
    err += tu * vf64_abs(bias);
  }
  return bounded_element{c, err, bias};
}

/* The bits of an element whose terms, or whose old value, are not finite, where that decides it. Nothing overflows in
 * binary64 here, so that an infinite or NaN sum has such terms; but padding, a zero in the sum, must not make a NaN of
 * them. */
__device__ bool special_bits(const rm_matmul_problem &p, const bounded_element &e, double old, uint64_t *bits) {
  if (p.alpha_beta)
    return rm_is_alpha_beta_infinity(p.alpha_beta, rm_is_finite(e.c) && rm_is_finite(e.err), old, p.out_fmt, bits);
  if (rm_is_finite(e.c) || (rm_is_nan(e.c) && (p.a.im2col || p.b.im2col))) return false;
  *bits = rm_is_nan(e.c) ? rm_nan_bits(p.out_fmt) : rm_infinity_bits(p.out_fmt) | (e.c < 0.0 ? rm_sign_bit(p.out_fmt) : 0);
  return true;
}

/* Rounds and stores an element; returns whether it is decided. If not, C keeps its old value. */
template <bool by_words>
__device__ bool finish(const rm_matmul_problem &p, int64_t i, int64_t j, const bounded_element &e, bool c_aligned) {
  char out[8], *at = address_in_c(p, i, j);
  double v = e.c, err = e.err, old = 0.0;
  if (p.alpha_beta) {
    if (p.alpha_beta->beta != 0.0) old = number_at<by_words>(at, p.out_fmt);
    v = rm_alpha_beta_vector(p.alpha_beta, v, old, &err);
  }
  if (!rm_round_vector(v, err, out, p.out_fmt)) {
    write(at, out, rm_size_of(p.out_fmt), c_aligned);
    return true;
  }
  /* Results that are not finite, which that leaves undecided. */
  uint64_t bits;
  if (!special_bits(p, e, old, &bits) && !(rm_is_finite(v) && rm_is_finite(err) && rm_decide_b64(v, err, p.out_fmt, &bits)))
    return false;
  if (by_words) write(at, reinterpret_cast<const char *>(&bits), rm_size_of(p.out_fmt), true);
  else rm_write_bits(at, bits, p.out_fmt);
  return true;
}

template <int fmt>
__global__ void __launch_bounds__(RM_T_THREADS) b64_tiles(const __grid_constant__ device_problem d, tiling tiles) {
  __shared__ side a, b;
  __shared__ double norms[2 * RM_T];
  for (int64_t index = blockIdx.x; index < tiles.count; index += gridDim.x) {
    const tile at = tile_of(tiles, index);
    const rm_matmul_problem p = problem_of(d, at.which);
    double chain[RM_ROW_PARTS][RM_COL_PARTS][2], sum[RM_ROW_PARTS][RM_COL_PARTS][2], norm2 = 0.0;
    for (int i = 0; i < RM_ROW_PARTS; i++)
      for (int j = 0; j < RM_COL_PARTS; j++) chain[i][j][0] = chain[i][j][1] = sum[i][j][0] = sum[i][j][1] = 0.0;
    each_piece<fmt>(a, b, d, p, at, [&](int64_t k0) {
      multiply_piece(a, b, chain);
      if (has_vector())
        for (int k = 0; k < RM_DEPTH; k++) norm2 = vf64_mad(vector_element(a, b, k), vector_element(a, b, k), norm2);
      if ((k0 + RM_DEPTH) % RM_KC == 0 || k0 + RM_DEPTH >= p.k)
        for (int i = 0; i < RM_ROW_PARTS; i++)
          for (int j = 0; j < RM_COL_PARTS; j++)
            for (int h = 0; h < 2; h++) sum[i][j][h] += chain[i][j][h], chain[i][j][h] = 0.0;
    });
    if (has_vector()) norms[threadIdx.x] = vf64_sqrt(norm2);
    __syncthreads();
    each_element(p, at, [&](int i, int j, int h, int64_t r, int64_t c) {
      const bounded_element e = with_bound<false>(p, r, c, sum[i][j][h], norms[row_of(i)], norms[RM_T + col_of(j, h)]);
      if (!finish<false>(p, r, c, e, d.c_aligned)) mark_undecided(tiles, p, at.which, r, c);
    });
  }
}

template <int fmt>
__global__ void __launch_bounds__(RM_D_THREADS, 1)
    dense_kernel(const __grid_constant__ device_problem d, dense_tiling tiles) {
  __shared__ dense_piece piece[2];
  for (int64_t index = blockIdx.x; index < tiles.count; index += gridDim.x) {
    const tile at = dense_tile_of(tiles, index);
    const double *rows = tiles.norms + at.which * (d.p.m + d.p.n), *cols = rows + d.p.m;
    dense_tile<fmt>(piece, d, tiles, at, [&](int64_t r, int64_t c, double sum) {
      const rm_matmul_problem p = problem_of(d, at.which);
      if (finish<false>(p, r, c, with_bound<false>(p, r, c, sum, rows[r], cols[c]), d.c_aligned)) return;
      const int64_t bit = (at.which * p.m + r) * p.n + c;
      atomicOr(tiles.undecided + bit / 32, 1u << (bit % 32));
    });
  }
}

template <bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(RM_A_THREADS, 1)
    async_kernel(const __grid_constant__ device_problem d, dense_tiling tiles) {
  for (int64_t index = blockIdx.x; index < tiles.count; index += gridDim.x) {
    const tile at = async_tile_of(tiles, index);
    const rm_matmul_problem p = problem_of(d, at.which);
    const double *rows = tiles.norms + at.which * (d.p.m + d.p.n), *cols = rows + d.p.m;
    async_tile<a_by_k, b_by_k>(d, at, [&](int64_t r, int64_t c, double sum) {
      if (finish<true>(p, r, c, with_bound<true>(p, r, c, sum, rows[r], cols[c]), true)) return;
      const int64_t bit = (at.which * p.m + r) * p.n + c;
      atomicOr(tiles.undecided + bit / 32, 1u << (bit % 32));
    });
  }
}

#if !defined(RM_CFG_EMULATE_DEVICE)
/* Gives a kernel so much shared memory; false where the device lacks it, or is older than the kernel's code. */
template <class K> bool shared_memory_for(K *kernel, size_t bytes) {
  int device = 0, shared = 0;
  cudaFuncAttributes code;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
      shared >= static_cast<int>(bytes) && cudaFuncGetAttributes(&code, kernel) == cudaSuccess && code.ptxVersion >= 80 &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  (void)cudaGetLastError();
  return false;
}
#endif

/* Launches async_kernel; false where the device or its code lacks what that needs. */
template <bool a_by_k, bool b_by_k> bool run_async(const device_problem &d, dense_tiling t, cudaStream_t s) {
  t.rows = (d.p.m + RM_A_TILE - 1) / RM_A_TILE, t.cols = (d.p.n + RM_A_TILE - 1) / RM_A_TILE;
  t.count = t.rows * t.cols * d.p.batch;
  const int64_t blocks = t.count < INT32_MAX ? t.count : INT32_MAX;
#if defined(RM_CFG_EMULATE_DEVICE)
  if (!RM_HAS_MMA) return false;
  RM_LAUNCH((async_kernel<a_by_k, b_by_k>), blocks, RM_A_THREADS, s, d, t);
#else
  auto *const kernel = async_kernel<a_by_k, b_by_k>;
  if (!shared_memory_for(kernel, sizeof(async_memory))) return false;
  if (!rm_cuda_measures()) kernel<<<static_cast<unsigned>(blocks), RM_A_THREADS, sizeof(async_memory), s>>>(d, t);
#endif
  return true;
}
bool run_async(const device_problem &d, const dense_tiling &t, cudaStream_t s) {
  if (d.p.fmt != RM_FORMAT_F32 || !t.a.in_quads || !t.b.in_quads || !d.c_aligned || !d.bias_aligned) return false;
  if (d.p.m <= RM_D_COLS || d.p.n <= RM_D_COLS) return false;
  if (t.a.by_k) return t.b.by_k ? run_async<true, true>(d, t, s) : run_async<true, false>(d, t, s);
  return t.b.by_k ? run_async<false, true>(d, t, s) : run_async<false, false>(d, t, s);
}

template <int cols, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(RM_A_THREADS, 1)
    conv_kernel(const __grid_constant__ device_problem d, dense_tiling tiles, gather_side a, gather_side b) {
  for (int64_t index = blockIdx.x; index < tiles.count; index += gridDim.x) {
    tile at = async_tile_of(tiles, index);
    at.col = at.col / RM_A_TILE * cols;
    const rm_matmul_problem p = problem_of(d, at.which);
    conv_tile<cols, a_by_k, b_by_k>(d, at, a, b, [&](int64_t r, int64_t c, double sum, double row, double col) {
      if (finish<true>(p, r, c, with_bound<true>(p, r, c, sum, row, col), true)) return;
      const int64_t bit = (at.which * p.m + r) * p.n + c;
      atomicOr(tiles.undecided + bit / 32, 1u << (bit % 32));
    });
  }
}

/* Launches conv_kernel with the shared memory that it needs; false where the device or its code lacks that. */
template <int cols, bool a_by_k, bool b_by_k>
bool run_conv(const device_problem &d, uint32_t *undecided, const gather_spot *index, cudaStream_t s) {
  dense_tiling t = {(d.p.m + RM_A_TILE - 1) / RM_A_TILE, (d.p.n + cols - 1) / cols, 0, undecided, nullptr, {}, {}};
  t.count = t.rows * t.cols * d.p.batch;
  const int64_t blocks = t.count < INT32_MAX ? t.count : INT32_MAX;
  const gather_side a = gather_side_of(d.p.a, index), b = gather_side_of(d.p.b, index + d.p.k);
#if defined(RM_CFG_EMULATE_DEVICE)
  if (!RM_HAS_MMA) return false;
  RM_LAUNCH((conv_kernel<cols, a_by_k, b_by_k>), blocks, RM_A_THREADS, s, d, t, a, b);
#else
  auto *const kernel = conv_kernel<cols, a_by_k, b_by_k>;
  if (!shared_memory_for(kernel, sizeof(conv_memory<cols>))) return false;
  if (!rm_cuda_measures()) kernel<<<static_cast<unsigned>(blocks), RM_A_THREADS, sizeof(conv_memory<cols>), s>>>(d, t, a, b);
#endif
  return true;
}
template <int cols>
bool run_conv(const device_problem &d, uint32_t *undecided, const gather_spot *index, bool a_by_k, bool b_by_k,
              cudaStream_t s) {
  if (a_by_k)
    return b_by_k ? run_conv<cols, true, true>(d, undecided, index, s) : run_conv<cols, true, false>(d, undecided, index, s);
  return b_by_k ? run_conv<cols, false, true>(d, undecided, index, s) : run_conv<cols, false, false>(d, undecided, index, s);
}

#ifndef RM_CFG_CONV_FROM
#define RM_CFG_CONV_FROM 32 /* rows: fewer do not fill the tiles */
#endif

/* Convolutions by conv_kernel; false where they are not for it. */
bool run_conv(const device_problem &d, uint32_t *undecided, cudaStream_t s) {
  const rm_matmul_problem &p = d.p;
  if (p.fmt != RM_FORMAT_F32 || !d.a_aligned || !d.b_aligned || !d.c_aligned || !d.bias_aligned) return false;
  if (p.k == 0 || p.k > 1 << 24 || p.m < RM_CFG_CONV_FROM || !has_near_coordinates(p.a) || !has_near_coordinates(p.b))
    return false;
  const workspace work(static_cast<size_t>(2 * p.k) * sizeof(gather_spot), s);
  gather_spot *const index = static_cast<gather_spot *>(work.data);
  if (!index) return false;
  RM_LAUNCH(gather_kernel, blocks_for(2 * p.k), RM_BLOCK, s, d, index, index + p.k);
  const bool a_by_k = is_by_k(p.a), b_by_k = is_by_k(p.b);
  return (p.n > 64 && run_conv<128>(d, undecided, index, a_by_k, b_by_k, s)) ||
         run_conv<64>(d, undecided, index, a_by_k, b_by_k, s);
}

/* The same product with rows for columns: of these there are fewer then. */
rm_matmul_problem turned(const rm_matmul_problem &p) {
  rm_matmul_problem q = p;
  q.m = p.n, q.n = p.m, q.a = p.b, q.b = p.a, q.next_a = p.next_b, q.next_b = p.next_a;
  q.bias.row = p.bias.col, q.bias.col = p.bias.row;
  q.c.row = p.c.col, q.c.col = p.c.row, q.c.rows = p.c.cols, q.c.cols = p.c.rows;
  return q;
}

/* Launches the kernels of a dense product, which mark undecided elements in the bitmap. */
template <int fmt> void dense(const device_problem &d, dense_tiling t, cudaStream_t s) {
  const rm_matmul_problem &p = d.p;
  const int64_t vectors = p.batch * (p.m + p.n), blocks = vectors < 65536 ? vectors : 65536;
  RM_LAUNCH(dense_norms<fmt>, blocks, RM_D_THREADS, s, p.a, t.a, d.a_aligned, p.m, p.k, p.batch, p.next_a, t.norms,
            p.m + p.n);
  RM_LAUNCH(dense_norms<fmt>, blocks, RM_D_THREADS, s, p.b, t.b, d.b_aligned, p.n, p.k, p.batch, p.next_b, t.norms + p.m,
            p.m + p.n);
  if (run_async(d, t, s)) return;
  RM_LAUNCH(dense_kernel<fmt>, t.count < INT32_MAX ? t.count : INT32_MAX, RM_D_THREADS, s, d, t);
}

} // namespace

rm_status rm_cuda_matmul_b64(const rm_matmul_problem *problem, double ratio, rm_cuda_stream stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  const bool is_dense = !problem->a.im2col && !problem->b.im2col;
  const rm_matmul_problem oriented = !is_dense && problem->m < problem->n ? turned(*problem) : *problem;
  const rm_matmul_problem *const p = &oriented;
  workspace norms(is_dense ? static_cast<size_t>(p->batch * (p->m + p->n)) * sizeof(double) : 1, s);
  if (!norms.data) return RM_ERR_DEVICE;
  return run_tiles(
      device_problem_of(p), s,
      [=, &norms](const device_problem &d, const tiling &t, int64_t blocks) {
        if (rm_cuda_matmul_crt(p, t.undecided, ratio, stream)) return;
        if (is_dense) {
          const rm_matmul_problem &q = d.p;
          dense_tiling tiles = {(q.m + RM_D_ROWS - 1) / RM_D_ROWS,
                                (q.n + RM_D_COLS - 1) / RM_D_COLS,
                                0,
                                t.undecided,
                                static_cast<double *>(norms.data),
                                dense_side_of(q.a, q.next_a, q.fmt),
                                dense_side_of(q.b, q.next_b, q.fmt)};
          tiles.count = tiles.rows * tiles.cols * q.batch;
          switch (q.fmt) {
            case RM_F16: return dense<RM_F16>(d, tiles, s);
            case RM_BF16: return dense<RM_BF16>(d, tiles, s);
            default: return dense<RM_F32>(d, tiles, s);
          }
        }
        if (run_conv(d, t.undecided, s)) return;
        switch (d.p.fmt) {
          case RM_F16: RM_LAUNCH(b64_tiles<RM_F16>, blocks, RM_T_THREADS, s, d, t); break;
          case RM_BF16: RM_LAUNCH(b64_tiles<RM_BF16>, blocks, RM_T_THREADS, s, d, t); break;
          default: RM_LAUNCH(b64_tiles<RM_F32>, blocks, RM_T_THREADS, s, d, t);
        }
      },
      [=](const device_problem &d, const rm_undecided_set &undecided) {
        const int64_t words = undecided.words(), each = retry_words_each(words), blocks = (words + each - 1) / each;
        const int64_t retries = blocks < INT32_MAX ? blocks : INT32_MAX;
        switch (d.p.fmt) {
          case RM_F16: RM_LAUNCH(retry_kernel<RM_F16>, retries, RM_RETRY_THREADS, s, d, undecided, each); break;
          case RM_BF16: RM_LAUNCH(retry_kernel<RM_BF16>, retries, RM_RETRY_THREADS, s, d, undecided, each); break;
          default: RM_LAUNCH(retry_kernel<RM_F32>, retries, RM_RETRY_THREADS, s, d, undecided, each);
        }
        return run_exact(d, undecided, s);
      });
}
