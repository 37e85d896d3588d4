/* Matrix products modulo small numbers, by the integer matrix instructions of compute capability 8.0 and up (crt.h): of f64,
 * and of the other formats on devices that multiply integers so much faster than binary64 that as many products as there are
 * moduli pay (integer_ratio.cu).
 *
 * What the integers hold exactly is a pair without error here, so that ties are decided too. In f64 a bias joins the pair by
 * a two-sum, whose error and the pair's low part, at most 2^-53 of the bias and the sum, are added with one rounding. */
#include "crt.h"
#include "finish_f64.h"
#include "integer_ratio.h"
#include "matmul.h"

namespace {

/* Rounds and stores an element of a format below f64; returns whether it is decided. */
__device__ inline bool finish_below(const rm_matmul_problem &p, int64_t i, int64_t j, const crt_sum &s) {
  char *const at = address_in_c(p, i, j);
  double bias = 0.0, err = s.err;
  uint64_t bits;
  uint32_t flags = 0; /* a device has nowhere to raise them */
  if (p.alpha_beta) {
    rm_pair v;
    const double old = p.alpha_beta->beta == 0.0 ? 0.0 : rm_read_element(at, p.out_fmt);
    if (!rm_alpha_beta_pair(p.alpha_beta, s.v, old, &v, &err) || !rm_decide_pair(v, err, 0.0, p.out_fmt, &bits, &flags))
      return false;
  } else {
    if (p.bias.base) bias = rm_read_element(p.bias.base + i * p.bias.row + j * p.bias.col, p.fmt);
    if (!rm_is_finite(bias)) return false;
    const rm_pair v = rm_pair_two_sum(s.v.hi, bias), low = rm_pair_two_sum(v.lo, s.v.lo);
    err += 2.0 * vf64_abs(low.lo); /* what is left out, and the rounding of this sum */
    if (err == 0.0) bits = rm_round_double(rm_pair_to_odd(v.hi, low.hi), p.out_fmt);
    else if (!rm_decide_sum_b64(rm_pair{v.hi, low.hi}, err, p.out_fmt, &bits)) return false;
  }
  rm_write_bits(at, bits, p.out_fmt);
  return true;
}

/* Rounds the products of some rows of A with some columns of B. */
template <int fmt>
__global__ void __launch_bounds__(RM_BLOCK)
    crt_finish_kernel(const __grid_constant__ device_problem d, const __grid_constant__ crt_tables<RM_CRT_MODULI<fmt>> tables,
                      tiling tiles, int64_t which, crt_side a, crt_side b, const uint8_t *residues) {
  const rm_matmul_problem p = problem_of(d, which);
  const int64_t step = static_cast<int64_t>(gridDim.x) * RM_BLOCK;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * RM_BLOCK + threadIdx.x; e < a.count * b.count; e += step) {
    const int64_t i = e / b.count, j = e % b.count, r = a.first + i, c = b.first + j;
    crt_sum s;
    bool known = crt_sum_of(tables, residues + i * b.padded + j, a.padded * b.padded, a.vectors[i], b.vectors[j], p.k, &s);
    if (known && fmt == RM_F64) {
      const double bias = bias_of(p, r, c);
      if (bias != 0.0) s.err += 0x1p-104 * (vf64_abs(s.v.hi) + vf64_abs(bias));
      known = finish_f64(p, r, c, s.v, s.err, s.zero, d.c_aligned);
    } else if (known) {
      known = finish_below(p, r, c, s);
    }
    if (!known) mark_undecided(tiles, p, which, r, c);
  }
}

#ifndef RM_CFG_CRT_ROOM
#define RM_CFG_CRT_ROOM (1 << 29) /* bytes of workspace, unless 64 rows and columns need more */
#endif

/* How a product is divided: rows and columns at a time, whose residues and those of their products have room. */
template <int moduli> struct crt_plan {
  int64_t pitch, rows, cols; /* multiples of DEPTH and T */
  static int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
  explicit crt_plan(const rm_matmul_problem &p) : pitch(up(p.k, RM_CRT_DEPTH)), rows(RM_CRT_T), cols(RM_CRT_T) {
    const int64_t room = RM_CFG_CRT_ROOM, fit_b = room / 2 / of_vector() / RM_CRT_T * RM_CRT_T;
    if (fit_b > cols) cols = fit_b < up(p.n, RM_CRT_T) ? fit_b : up(p.n, RM_CRT_T);
    const int64_t fit_a = (room - cols * of_vector()) / (of_vector() + moduli * cols) / RM_CRT_T * RM_CRT_T;
    if (fit_a > rows) rows = fit_a < up(p.m, RM_CRT_T) ? fit_a : up(p.m, RM_CRT_T);
  }
  int64_t of_vector() const { return moduli * pitch + static_cast<int64_t>(sizeof(crt_vector)); }
  int64_t bytes() const { return (rows + cols) * of_vector() + moduli * rows * cols; }
};

/* false: the device or its code lacks what the products need, or memory. */
template <int fmt> bool run_crt(const device_problem &d, const tiling &t, cudaStream_t s) {
  constexpr int moduli = RM_CRT_MODULI<fmt>;
  const rm_matmul_problem &p = d.p;
#if !defined(RM_CFG_EMULATE_DEVICE)
  cudaFuncAttributes code;
  if (cudaFuncGetAttributes(&code, crt_products_kernel<moduli>) != cudaSuccess || code.ptxVersion < 80) {
    (void)cudaGetLastError();
    return false;
  }
#endif
  const crt_plan<moduli> plan(p);
  const workspace work(static_cast<size_t>(plan.bytes()), s);
  if (!work.data) return false;
  int8_t *const of_a = static_cast<int8_t *>(work.data), *const of_b = of_a + plan.rows * moduli * plan.pitch;
  uint8_t *const out = reinterpret_cast<uint8_t *>(of_b + plan.cols * moduli * plan.pitch);
  crt_vector *const vectors = reinterpret_cast<crt_vector *>(out + moduli * plan.rows * plan.cols);
  const int bits = crt_bits<moduli>(p.k);
  auto side = [&](bool is_b, int64_t first) {
    const int64_t left = (is_b ? p.n : p.m) - first, most = is_b ? plan.cols : plan.rows, count = left < most ? left : most;
    return crt_side{is_b,
                    first,
                    count,
                    crt_plan<moduli>::up(count, RM_CRT_T),
                    plan.pitch,
                    is_b ? of_b : of_a,
                    is_b ? vectors + plan.rows : vectors};
  };
  auto divide = [&](const crt_side &of, int64_t which) {
    RM_LAUNCH(crt_residues_kernel<fmt>, of.padded < 65536 ? of.padded : 65536, RM_CRT_ROW_THREADS, s, d, RM_CRT<moduli>, of,
              which, bits);
  };
  for (int64_t which = 0; which < p.batch; which++)
    for (int64_t col = 0; col < p.n; col += plan.cols) {
      const crt_side b = side(true, col);
      divide(b, which);
      for (int64_t row = 0; row < p.m; row += plan.rows) {
        const crt_side a = side(false, row);
        divide(a, which);
        const int64_t tiles = a.padded / RM_CRT_T * (b.padded / RM_CRT_T) * moduli;
        RM_LAUNCH(crt_products_kernel<moduli>, tiles < INT32_MAX ? tiles : INT32_MAX, RM_CRT_THREADS, s, RM_CRT<moduli>, a, b,
                  out);
        RM_LAUNCH(crt_finish_kernel<fmt>, blocks_for(a.count * b.count), RM_BLOCK, s, d, RM_CRT<moduli>, t, which, a, b, out);
      }
    }
  return true;
}

int moduli_of(int fmt) {
  if (fmt == RM_FORMAT_F64) return RM_CRT_MODULI<RM_F64>;
  return fmt == RM_FORMAT_F32 ? RM_CRT_MODULI<RM_F32> : RM_CRT_MODULI<RM_BF16>;
}

/* What the other engines take for a term, in products of binary64 by matrix
 * instructions: double-double sums take about 22 operations a term, each two of these. */
double cost_of_others(int fmt) { return fmt == RM_FORMAT_F64 ? 44.0 : 1.0; }

} // namespace

/* The residues of an element take as long as some 512 of its products modulo one number, and so does the rounding of a sum:
 * these are shared by n or m sums, or by k terms. */
double rm_cuda_integer_cost(int fmt, int64_t m, int64_t n, int64_t k) {
  const double shares = 1.0 / static_cast<double>(m) + 1.0 / static_cast<double>(n) + 1.0 / static_cast<double>(k);
  return moduli_of(fmt) * (1.0 + 512.0 * shares) / cost_of_others(fmt);
}

bool rm_cuda_matmul_crt(const rm_matmul_problem *p, uint32_t *undecided, double ratio, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  if (p->a.im2col || p->b.im2col || p->k == 0 || p->k > RM_CRT_TERMS) return false;
  if (!(ratio >= rm_cuda_integer_cost(p->fmt, p->m, p->n, p->k))) return false;
  const device_problem d = device_problem_of(p);
  const tiling t = {0, 0, 0, undecided};
  switch (p->fmt) {
    case RM_FORMAT_F16: return run_crt<RM_F16>(d, t, s);
    case RM_FORMAT_BF16: return run_crt<RM_BF16>(d, t, s);
    case RM_FORMAT_F32: return run_crt<RM_F32>(d, t, s);
    default: return run_crt<RM_F64>(d, t, s);
  }
}
