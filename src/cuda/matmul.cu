/* Matrix product of binary32: the same chains of binary64 additions, bound and rounding test as the CPU's engine
 * (blas/bound_f32.h, epilogue_f32.h), over tiles in shared memory. What the test leaves open is marked in a bitmap, and a
 * second kernel gives it to the CPU's resolver. */
#include "launch.h"

#include "engine.h"

#include "../blas/epilogue_f32.h"

namespace {

enum {
  RM_T = 64, /* a block computes T x T elements */
  RM_S = 16, /* with S x S threads, so each has R x R of them, S apart */
  RM_R = RM_T / RM_S,
  RM_DEPTH = 16 /* terms in shared memory at a time; divides RM_KC, so that chains end where the bound says */
};
static_assert(RM_KC % RM_DEPTH == 0, "a chain must end with a piece");

struct layout {
  bool a_aligned, b_aligned, c_aligned, a_by_k, b_by_k; /* by_k: neighbours along k are nearer in memory than lines */
};

/* One piece of T lines x DEPTH terms; what lies outside is zero. piece[k][line]. */
__device__ void load_piece(double (*piece)[RM_T], const rm_operand &o, int64_t line0, int64_t lines, int64_t k0, int64_t terms,
                           bool by_k, bool aligned) {
  for (int e = static_cast<int>(threadIdx.x); e < RM_T * RM_DEPTH; e += RM_S * RM_S) {
    int k = by_k ? e % RM_DEPTH : e / RM_T, l = by_k ? e / RM_DEPTH : e % RM_T;
    double x = 0.0;
    if (line0 + l < lines && k0 + k < terms)
      x = static_cast<double>(element<float>::load(o.base + (line0 + l) * o.line + (k0 + k) * o.step, aligned));
    piece[k][l] = x;
  }
}

/* The value and the error bound of one element from its chain and the squared norms, bias included. */
struct open_element {
  double c, err, bias;
};
__device__ open_element with_bound(const rm_matmul_problem &p, int64_t j, double c, double row2, double col2) {
  double tu = rm_bound_f32(p.k), bias = 0.0, err = tu * vf64_sqrt(row2) * vf64_sqrt(col2);
  if (p.bias.base) {
    bias = rm_read_element(p.bias.base + j * p.bias.col, RM_F32);
    c += bias;
    err += tu * vf64_abs(bias);
  }
  return open_element{c, err, bias};
}

__global__ void __launch_bounds__(RM_S *RM_S) tile_kernel(rm_matmul_problem p, layout at, int64_t col_tiles, uint32_t *open) {
  __shared__ double a[RM_DEPTH][RM_T], b[RM_DEPTH][RM_T], row2[RM_T], col2[RM_T];
  const int t = static_cast<int>(threadIdx.x), ti = t / RM_S, tj = t % RM_S;
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) / col_tiles * RM_T,
                col0 = static_cast<int64_t>(blockIdx.x) % col_tiles * RM_T;
  double chain[RM_R][RM_R], sum[RM_R][RM_R], norm2 = 0.0;
  for (int i = 0; i < RM_R; i++)
    for (int j = 0; j < RM_R; j++) chain[i][j] = sum[i][j] = 0.0;
  for (int64_t k0 = 0; k0 < p.k; k0 += RM_DEPTH) {
    load_piece(a, p.a, row0, p.m, k0, p.k, at.a_by_k, at.a_aligned);
    load_piece(b, p.b, col0, p.n, k0, p.k, at.b_by_k, at.b_aligned);
    __syncthreads();
    for (int k = 0; k < RM_DEPTH; k++) {
      double x[RM_R], y[RM_R];
      for (int i = 0; i < RM_R; i++) x[i] = a[k][ti + i * RM_S], y[i] = b[k][tj + i * RM_S];
      for (int i = 0; i < RM_R; i++)
        for (int j = 0; j < RM_R; j++) chain[i][j] = vf64_mad(x[i], y[j], chain[i][j]);
    }
    if (t < 2 * RM_T) /* sums of squares: a row of A for each of the first T threads, a column of B for the next */
      for (int k = 0; k < RM_DEPTH; k++) {
        double x = t < RM_T ? a[k][t] : b[k][t - RM_T];
        norm2 = vf64_mad(x, x, norm2);
      }
    if ((k0 + RM_DEPTH) % RM_KC == 0 || k0 + RM_DEPTH >= p.k)
      for (int i = 0; i < RM_R; i++)
        for (int j = 0; j < RM_R; j++) sum[i][j] += chain[i][j], chain[i][j] = 0.0;
    __syncthreads();
  }
  if (t < RM_T)
    row2[t] = norm2;
  else if (t < 2 * RM_T)
    col2[t - RM_T] = norm2;
  __syncthreads();
  for (int i = 0; i < RM_R; i++)
    for (int j = 0; j < RM_R; j++) {
      int64_t r = row0 + ti + i * RM_S, c = col0 + tj + j * RM_S;
      if (r >= p.m || c >= p.n) continue;
      open_element e = with_bound(p, c, sum[i][j], row2[ti + i * RM_S], col2[tj + j * RM_S]);
      float v;
      if (rm_round_vector_f32(e.c, e.err, &v)) {
        int64_t bit = r * p.n + c;
        atomicOr(open + bit / 32, 1u << (bit % 32));
      }
      element<float>::store(p.c.base + r * p.c.row + c * p.c.col, v, at.c_aligned);
    }
}

/* One open element, from the start: its chain in the order of any of the engines, then the tiers of the resolver. */
__device__ void resolve(const rm_matmul_problem &p, int64_t r, int64_t c) {
  const char *a = p.a.base + r * p.a.line, *b = p.b.base + c * p.b.line;
  double sum = 0.0, row2 = 0.0, col2 = 0.0;
  for (int64_t k0 = 0; k0 < p.k; k0 += RM_KC) {
    double chain = 0.0;
    for (int64_t k = k0; k < k0 + RM_KC && k < p.k; k++) {
      double x = rm_read_element(a + k * p.a.step, RM_F32), y = rm_read_element(b + k * p.b.step, RM_F32);
      chain = vf64_mad(x, y, chain);
      row2 = vf64_mad(x, x, row2);
      col2 = vf64_mad(y, y, col2);
    }
    sum += chain;
  }
  open_element e = with_bound(p, c, sum, row2, col2);
  rm_block block = {r, 1, c, 1};
  rm_line row = {0, 0, 0}, col = {0, 0, 0};
  rm_tiers tiers = {0, 0, 0};
  rm_resolver resolver = {};
  resolver.p = &p, resolver.block = &block, resolver.rows = &row, resolver.cols = &col, resolver.tiers = &tiers;
  rm_write_bits(p.c.base + r * p.c.row + c * p.c.col, rm_resolve_element_f32(&resolver, 0, 0, e.c, e.err, e.bias), RM_F32);
}

__global__ void resolve_kernel(rm_matmul_problem p, const uint32_t *open, int64_t words) {
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t w = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < words; w += step) {
    uint32_t bits = open[w];
    for (int bit = 0; bit < 32; bit++)
      if (bits >> bit & 1u) resolve(p, (w * 32 + bit) / p.n, (w * 32 + bit) % p.n);
  }
}

ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

} // namespace

extern "C" rm_status rm_cuda_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a,
                                                ptrdiff_t col_a, const float *b, ptrdiff_t row_b, ptrdiff_t col_b,
                                                const float *bias, ptrdiff_t stride_bias, float *c, ptrdiff_t row_c,
                                                ptrdiff_t col_c, rm_cuda_stream stream) {
  rm_matmul_problem p = {};
  p.fmt = p.out_fmt = RM_F32;
  p.batch = RM_NO_BATCH;
  rm_status status = rm_check_strided(&p, m, n, k, rm_view{(char *)(uintptr_t)a, row_a, col_a}, rm_view{(char *)(uintptr_t)b, row_b, col_b},
                                      rm_view{(char *)(uintptr_t)bias, 0, stride_bias}, rm_view{(char *)c, row_c, col_c});
  if (status || m == 0 || n == 0) return status;
  layout at = {aligned<float>(a, row_a | col_a), aligned<float>(b, row_b | col_b), aligned<float>(c, row_c | col_c),
               magnitude(col_a) < magnitude(row_a), magnitude(row_b) < magnitude(col_b)};
  int64_t row_tiles = (m + RM_T - 1) / RM_T, col_tiles = (n + RM_T - 1) / RM_T, words = (m * n + 31) / 32;
  if (row_tiles > INT32_MAX / col_tiles) return RM_STATUS(RM_ERR_SIZE, 1);
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  workspace work(static_cast<size_t>(words) * 4, s); /* one bit an element */
  if (!work.data || cudaMemsetAsync(work.data, 0, static_cast<size_t>(words) * 4, s) != cudaSuccess) return RM_ERR_DEVICE;
  uint32_t *open = static_cast<uint32_t *>(work.data);
  RM_LAUNCH(tile_kernel, row_tiles * col_tiles, RM_S * RM_S, s, p, at, col_tiles, open);
  RM_LAUNCH(resolve_kernel, blocks_for(words), RM_BLOCK, s, p, open, words);
  return launched();
}
