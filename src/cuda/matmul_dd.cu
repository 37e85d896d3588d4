/* Matrix products of f64. Large ones are products of integers modulo small numbers first (matmul_crt.cu).
 *
 * Others: one double-double sum for each element over tiles in shared memory, as blas/gemm/resolve_dd.h has it (Dot2 of
 * Ogita, Rump and Oishi 2005), without its scaling: where something overflows or comes near the lower end of the format, the
 * element is left undecided: one chain, which the bias joins (rm_bound_dot2). Its count: a term passes K two-sums and that
 * of the bias; an error of a product joins that of its two-sum, then K of these, then what the bias leaves over: K + 1 and K
 * + 2 additions, where the bound has K + 64 and twice that. Where both ends of the interval round to the same normal number,
 * it is the result.
 *
 * In both, threads compute what is undecided by superaccumulators (exact_elements.h). */
#include "exact_elements.h"
#include "finish_f64.h"

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
      const dd_sum &s = sum[i][j][h];
      const int row = vectors[row_of(i)], col = vectors[RM_T + col_of(j, h)];
      const bool zero = !((row | col) & RM_NONFINITE) && !(row & col & RM_NONZERO); /* products are, one side being so */
      if (!finish_f64(p, r, c, rm_pair{s.hi, s.lo}, rm_bound_dot2(p.k, s.size + vf64_abs(bias_of(p, r, c))), zero,
                      d.c_aligned))
        mark_undecided(tiles, p, at.which, r, c);
    });
  }
}

} // namespace

rm_status rm_cuda_matmul_dd(const rm_matmul_problem *p, double ratio, rm_cuda_stream stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return run_tiles(
      device_problem_of(p), s,
      [=](const device_problem &d, const tiling &t, int64_t blocks) {
        if (!rm_cuda_matmul_crt(p, t.undecided, ratio, stream)) RM_LAUNCH(dd_tiles, blocks, RM_T_THREADS, s, d, t);
      },
      [=](const device_problem &d, const rm_undecided_set &undecided) {
        RM_LAUNCH(list_kernel, blocks_for(undecided.words()), RM_BLOCK, s, undecided);
        return run_exact(d, undecided, s);
      });
}
