/* Matrix products of f64: one double-double sum for each element over tiles in shared memory, as blas/gemm/resolve_dd.h has
 * it (Dot2 of Ogita, Rump and Oishi 2005), without its scaling: where something overflows or comes near the lower end of the
 * format, the element is left undecided: one chain, which the bias joins (rm_bound_dot2). Its count: a term passes K two-sums
 * and that of the bias; an error of a product joins that of its two-sum, then K of these, then what the bias leaves over: K +
 * 1 and K + 2 additions, where the bound has K + 64 and twice that. Where both ends of the interval round to the same
 * normal number, it is the result. Else threads compute the element by superaccumulators (exact_elements.h). */
#include "exact_elements.h"

#include "../blas/gemm/bound_dd.h"
#include "matmul.h"

namespace {

struct dd_sum {
  double hi, lo, size;
};

__device__ inline void add_product(dd_sum &s, double x, double y) {
  const double p = vf64_mul(x, y), e = rm_two_prod_error(x, y, p);
  double f;
  s.hi = rm_two_sum(s.hi, p, &f);
  s.lo += f + e;
  s.size += vf64_abs(p);
}

/* Facts about a vector: what any of its elements is. */
enum { RM_NONZERO = 1, RM_NONFINITE = 2 };
__device__ inline int facts_of(double x) { return (x != 0.0 ? RM_NONZERO : 0) | (rm_is_finite(x) ? 0 : RM_NONFINITE); }

/* Rounds and stores an element; returns whether it is decided. */
__device__ bool finish(const rm_matmul_problem &p, int64_t i, int64_t j, dd_sum s, int row, int col, bool c_aligned) {
  char *at = address_in_c(p, i, j);
  const double bias = p.bias.base ? rm_read_element(p.bias.base + i * p.bias.row + j * p.bias.col, RM_F64) : 0.0;
  double out = bias + 0.0; /* for products that are all zero, one side being so */
  const bool zero = !((row | col) & RM_NONFINITE) && (!(row & RM_NONZERO) || !(col & RM_NONZERO));
  if (!zero || p.alpha_beta || !rm_is_finite(bias)) {
    rm_pair v = rm_pair_two_sum(s.hi, bias);
    double err = rm_bound_dot2(p.k, s.size + vf64_abs(bias));
    v = rm_pair_two_sum(v.hi, v.lo + s.lo);
    if (p.alpha_beta) {
      uint32_t flags = 0;
      uint64_t bits;
      const double old = p.alpha_beta->beta == 0.0 ? 0.0 : rm_read_element(at, RM_F64);
      if (!rm_is_finite(v.hi) || !rm_alpha_beta_pair(p.alpha_beta, v, old, &v, &err) ||
          !rm_decide_pair(v, err, 0.0, RM_F64, &bits, &flags))
        return false;
      out = rm_from_bits64(bits);
    } else {
      const double lower = v.hi + (v.lo - err), upper = v.hi + (v.lo + err), size = vf64_abs(lower);
      if (rm_bits64(lower) != rm_bits64(upper) || !(size >= 0x1p-1000 && size <= 0x1.fffffffffffffp1023)) return false;
      out = lower;
    }
  }
  char bits[8];
  __builtin_memcpy(bits, &out, 8);
  write(at, bits, 8, c_aligned);
  return true;
}

__global__ void __launch_bounds__(RM_T_THREADS) dd_tiles(const __grid_constant__ device_problem d, tiling tiles) {
  __shared__ side a, b;
  __shared__ int vectors[2 * RM_T];
  for (int64_t index = blockIdx.x; index < tiles.count; index += gridDim.x) {
    const tile at = tile_of(tiles, index);
    const rm_matmul_problem p = problem_of(d, at.which);
    dd_sum sum[RM_ROW_PARTS][RM_COL_PARTS][2];
    int facts = 0;
    for (int i = 0; i < RM_ROW_PARTS; i++)
      for (int j = 0; j < RM_COL_PARTS; j++) sum[i][j][0] = sum[i][j][1] = dd_sum{0.0, 0.0, 0.0};
    each_piece<RM_F64>(a, b, d, p, at, [&](int64_t) {
      for (int k = 0; k < RM_DEPTH; k++)
        for (int i = 0; i < RM_ROW_PARTS; i++)
          for (int j = 0; j < RM_COL_PARTS; j++)
            for (int h = 0; h < 2; h++) add_product(sum[i][j][h], a.x[k][row_of(i)], b.x[k][col_of(j, h)]);
      if (has_vector())
        for (int k = 0; k < RM_DEPTH; k++) facts |= facts_of(vector_element(a, b, k));
    });
    if (has_vector()) vectors[threadIdx.x] = facts;
    __syncthreads();
    each_element(p, at, [&](int i, int j, int h, int64_t r, int64_t c) {
      if (!finish(p, r, c, sum[i][j][h], vectors[row_of(i)], vectors[RM_T + col_of(j, h)], d.c_aligned))
        mark_undecided(tiles, p, at.which, r, c);
    });
  }
}

} // namespace

rm_status rm_cuda_matmul_dd(const rm_matmul_problem *p, rm_cuda_stream stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return run_tiles(
      device_problem_of(p), s,
      [=](const device_problem &d, const tiling &t, int64_t blocks) { RM_LAUNCH(dd_tiles, blocks, RM_T_THREADS, s, d, t); },
      [=](const device_problem &d, const uint32_t *undecided, int64_t words) { return run_exact(d, undecided, words, s); });
}
