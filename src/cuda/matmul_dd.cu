/* Matrix products of f64. Large ones are products of integers modulo small numbers first (crt.h), by the integer matrix
 * instructions of compute capability 8.0 and up.
 *
 * Others: one double-double sum for each element over tiles in shared memory, as blas/gemm/resolve_dd.h has it (Dot2 of
 * Ogita, Rump and Oishi 2005), without its scaling: where something overflows or comes near the lower end of the format, the
 * element is left undecided: one chain, which the bias joins (rm_bound_dot2). Its count: a term passes K two-sums and that
 * of the bias; an error of a product joins that of its two-sum, then K of these, then what the bias leaves over: K + 1 and K
 * + 2 additions, where the bound has K + 64 and twice that. Where both ends of the interval round to the same normal number,
 * it is the result.
 *
 * In both, threads compute what is undecided by superaccumulators (exact_elements.h). */
#include "crt.h"
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

__device__ double bias_of(const rm_matmul_problem &p, int64_t i, int64_t j) {
  return p.bias.base ? rm_read_element(p.bias.base + i * p.bias.row + j * p.bias.col, RM_F64) : 0.0;
}

/* Rounds and stores an element; returns whether it is decided. err: the bound of the sum with its bias; zero: the sum is
 * 0. */
__device__ bool finish(const rm_matmul_problem &p, int64_t i, int64_t j, rm_pair s, double err, bool zero, bool c_aligned) {
  char *at = address_in_c(p, i, j);
  const double bias = bias_of(p, i, j);
  double out = bias + 0.0;
  if (!zero || p.alpha_beta || !rm_is_finite(bias)) {
    rm_pair v = rm_pair_two_sum(s.hi, bias);
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
      const dd_sum &s = sum[i][j][h];
      const int row = vectors[row_of(i)], col = vectors[RM_T + col_of(j, h)];
      const bool zero = !((row | col) & RM_NONFINITE) && !(row & col & RM_NONZERO); /* products are, one side being so */
      if (!finish(p, r, c, rm_pair{s.hi, s.lo}, rm_bound_dot2(p.k, s.size + vf64_abs(bias_of(p, r, c))), zero, d.c_aligned))
        mark_undecided(tiles, p, at.which, r, c);
    });
  }
}

/* Rounds the products of some rows of A with some columns of B. The bias joins the pair by a two-sum, whose error and the
 * pair's low part, at most 2^-53 of the bias and the sum, are added with one rounding. */
__global__ void __launch_bounds__(RM_BLOCK)
    crt_finish_kernel(const __grid_constant__ device_problem d, const __grid_constant__ crt_tables tables, tiling tiles,
                      int64_t which, crt_side a, crt_side b, const uint8_t *residues) {
  const rm_matmul_problem p = problem_of(d, which);
  const int64_t step = static_cast<int64_t>(gridDim.x) * RM_BLOCK;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * RM_BLOCK + threadIdx.x; e < a.count * b.count; e += step) {
    const int64_t i = e / b.count, j = e % b.count, r = a.first + i, c = b.first + j;
    crt_sum s;
    bool known = crt_sum_of(tables, residues + i * b.padded + j, a.padded * b.padded, a.vectors[i], b.vectors[j], p.k, &s);
    if (known) {
      const double bias = bias_of(p, r, c);
      if (bias != 0.0) s.err += 0x1p-104 * (vf64_abs(s.v.hi) + vf64_abs(bias));
      known = finish(p, r, c, s.v, s.err, s.zero, d.c_aligned);
    }
    if (!known) mark_undecided(tiles, p, which, r, c);
  }
}

#ifndef RM_CFG_CRT_FROM
#define RM_CFG_CRT_FROM 64 /* rows, columns and an eighth of the terms, at least */
#endif
#ifndef RM_CFG_CRT_ROOM
#define RM_CFG_CRT_ROOM (1 << 29) /* bytes of workspace, unless 64 rows and columns need more */
#endif

/* How a product is divided: rows and columns at a time, whose residues and those of their products have room. */
struct crt_plan {
  int64_t pitch, rows, cols; /* multiples of DEPTH and T */
  static int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
  explicit crt_plan(const rm_matmul_problem &p) : pitch(up(p.k, RM_CRT_DEPTH)), rows(RM_CRT_T), cols(RM_CRT_T) {
    const int64_t room = RM_CFG_CRT_ROOM, fit_b = room / 2 / of_vector() / RM_CRT_T * RM_CRT_T;
    if (fit_b > cols) cols = fit_b < up(p.n, RM_CRT_T) ? fit_b : up(p.n, RM_CRT_T);
    const int64_t fit_a = (room - cols * of_vector()) / (of_vector() + RM_CRT_MODULI * cols) / RM_CRT_T * RM_CRT_T;
    if (fit_a > rows) rows = fit_a < up(p.m, RM_CRT_T) ? fit_a : up(p.m, RM_CRT_T);
  }
  int64_t of_vector() const { return RM_CRT_MODULI * pitch + static_cast<int64_t>(sizeof(crt_vector)); }
  int64_t bytes() const { return (rows + cols) * of_vector() + RM_CRT_MODULI * rows * cols; }
};

/* Launches the products by integers; false where they are small, or the device or its code lacks what they need, or
 * memory. */
bool run_crt(const device_problem &d, const tiling &t, cudaStream_t s) {
  const rm_matmul_problem &p = d.p;
  const int64_t fewest = RM_CFG_CRT_FROM;
  if (p.a.im2col || p.b.im2col || p.k > RM_CRT_TERMS || p.m < fewest || p.n < fewest || p.k < 8 * fewest) return false;
#if !defined(RM_CFG_EMULATE_DEVICE)
  cudaFuncAttributes code;
  if (cudaFuncGetAttributes(&code, crt_products_kernel) != cudaSuccess || code.ptxVersion < 80) {
    (void)cudaGetLastError();
    return false;
  }
#endif
  const crt_plan plan(p);
  const workspace work(static_cast<size_t>(plan.bytes()), s);
  if (!work.data) return false;
  int8_t *const of_a = static_cast<int8_t *>(work.data), *const of_b = of_a + plan.rows * RM_CRT_MODULI * plan.pitch;
  uint8_t *const out = reinterpret_cast<uint8_t *>(of_b + plan.cols * RM_CRT_MODULI * plan.pitch);
  crt_vector *const vectors = reinterpret_cast<crt_vector *>(out + RM_CRT_MODULI * plan.rows * plan.cols);
  const int bits = crt_bits(p.k);
  auto side = [&](bool is_b, int64_t first) {
    const int64_t left = (is_b ? p.n : p.m) - first, most = is_b ? plan.cols : plan.rows, count = left < most ? left : most;
    return crt_side{is_b,
                    first,
                    count,
                    crt_plan::up(count, RM_CRT_T),
                    plan.pitch,
                    is_b ? of_b : of_a,
                    is_b ? vectors + plan.rows : vectors};
  };
  auto divide = [&](const crt_side &of, int64_t which) {
    RM_LAUNCH(crt_residues_kernel, of.padded < 65536 ? of.padded : 65536, RM_CRT_ROW_THREADS, s, d, RM_CRT, of, which, bits);
  };
  for (int64_t which = 0; which < p.batch; which++)
    for (int64_t col = 0; col < p.n; col += plan.cols) {
      const crt_side b = side(true, col);
      divide(b, which);
      for (int64_t row = 0; row < p.m; row += plan.rows) {
        const crt_side a = side(false, row);
        divide(a, which);
        const int64_t tiles = a.padded / RM_CRT_T * (b.padded / RM_CRT_T) * RM_CRT_MODULI;
        RM_LAUNCH(crt_products_kernel, tiles < INT32_MAX ? tiles : INT32_MAX, RM_CRT_THREADS, s, RM_CRT, a, b, out);
        RM_LAUNCH(crt_finish_kernel, blocks_for(a.count * b.count), RM_BLOCK, s, d, RM_CRT, t, which, a, b, out);
      }
    }
  return true;
}

} // namespace

rm_status rm_cuda_matmul_dd(const rm_matmul_problem *p, rm_cuda_stream stream) {
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  return run_tiles(
      device_problem_of(p), s,
      [=](const device_problem &d, const tiling &t, int64_t blocks) {
        if (!run_crt(d, t, s)) RM_LAUNCH(dd_tiles, blocks, RM_T_THREADS, s, d, t);
      },
      [=](const device_problem &d, const uint32_t *undecided, int64_t words) { return run_exact(d, undecided, words, s); });
}
