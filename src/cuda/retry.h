/* The second phase of products of f32, f16 and bf16: the threads of a block sum the elements that the tiles leave
 * undecided in its part of the bitmap again in double-double, as blas/gemm/resolve_b64.h does; about one in 2^40 stays
 * undecided, and is listed (undecided.h). A decided element is stored, and its bit in the bitmap cleared.
 *
 * Where few elements are undecided, all threads share the terms of each; where many are, each thread has an element of its
 * own. So the time is that of few loads after each other in the first case, and in the second, neighbouring threads read
 * neighbouring elements of a row of C, which have the row of A in common.
 *
 * Bounds: of `parts` threads with an element, at most T = RM_RETRY_THREADS, each adds every parts-th term by two-sums;
 * they are joined in a tree, at last to the bias. No term passes more than ceil(K/parts) + log2 T + 1 additions, and no
 * error of one more than ceil(K/parts) + 2 log2 T + 2, two where parts are joined: at most K + 19 for the T = 256 here,
 * where h = K + 64 is allowed (resolve_b64.h). Squares of norms: a product is exact, a part adds ceil(K/parts) of them,
 * and an addition of the tree rounds only where both sides have a term, so in min(log2 T, K - 1) of its levels at most:
 * ceil(K/parts) - 1 + min(8, K - 1) <= K + 5 roundings (pack.h). */
#ifndef RM_CUDA_RETRY_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_RETRY_H

#include "tiles.h"

#include "../blas/gemm/resolve_b64.h"

namespace {

#ifndef RM_CFG_RETRY_THREADS
#define RM_CFG_RETRY_THREADS 256 /* a power of two, at most 256 */
#endif
enum {
  RM_RETRY_THREADS = RM_CFG_RETRY_THREADS,
  RM_RETRY_WORDS = 64, /* of the bitmap at most that a block looks through at a time */
  RM_RETRY_AHEAD = 8 /* terms that a thread loads before it adds them */
};
static_assert(RM_RETRY_THREADS >= RM_RETRY_WORDS && RM_RETRY_THREADS <= 256, "a thread for each word; the bounds above");

/* Sums of a thread's terms. */
struct retry_sums {
  double hi, lo, row2, col2;
  __device__ void add(double x, double y) {
    const rm_pair t = rm_pair_two_sum(hi, x * y);
    hi = t.hi, lo += t.lo;
    row2 = vf64_mad(x, x, row2), col2 = vf64_mad(y, y, col2);
  }
  __device__ void join(const retry_sums &o) {
    const rm_pair t = rm_pair_two_sum(hi, o.hi);
    hi = t.hi, lo = (lo + o.lo) + t.lo;
    row2 += o.row2, col2 += o.col2;
  }
};
/* Exponents of the lowest bits of a thread's factors (vector_facts.h). */
struct retry_granules {
  int row, col;
  __device__ void add(double x, double y) { join({rm_granule64(rm_bits64(x)), rm_granule64(rm_bits64(y))}); }
  __device__ void join(const retry_granules &o) {
    if (o.row < row) row = o.row;
    if (o.col < col) col = o.col;
  }
};
struct retry_memory {
  uint32_t word[RM_RETRY_WORDS], left[RM_RETRY_WORDS]; /* of the bitmap, before and after */
  int count[RM_RETRY_WORDS]; /* bits of each word that are set */
  uint16_t list[RM_RETRY_WORDS * 32]; /* their places */
  unsigned open; /* whether an element of this round needs granules */
  retry_sums sums[RM_RETRY_THREADS];
  retry_granules granules[RM_RETRY_THREADS];
};

/* The bits of an element, row r and column c of C, from its sums; false where it stays undecided. granules: those of its
 * factors, or NULL where they are not known. at: the element's place, whose old value counts with beta. */
__device__ inline bool retry_bits(const rm_matmul_problem &p, int64_t r, int64_t c, const retry_sums &sums,
                                  const retry_granules *granules, const char *at, uint64_t *bits) {
  const double tu = rm_bound_b64(p.k), norms = vf64_sqrt(sums.row2) * vf64_sqrt(sums.col2);
  const int products = granules ? granules->row + granules->col : 0;
  uint32_t flags = 0; /* a device has nowhere to raise them */
  double err2 = tu * norms * rm_bound_dd_ratio(p.k);
  if (p.alpha_beta) {
    const double old = p.alpha_beta->beta == 0.0 ? 0.0 : rm_read_element(at, p.out_fmt);
    rm_pair v;
    if (p.k == 0) err2 = 0.0;
    return rm_is_finite(norms) && rm_alpha_beta_pair(p.alpha_beta, rm_pair{sums.hi, sums.lo}, old, &v, &err2) &&
           rm_decide_pair(v, err2, granules ? rm_alpha_beta_granule(p.alpha_beta, products, old) : 0.0, p.out_fmt, bits,
                          &flags);
  }
  if (!rm_is_finite(norms)) return false; /* padding meets what is not finite (finish) */
  double bias = 0.0;
  if (p.bias.base) bias = rm_read_element(p.bias.base + r * p.bias.row + c * p.bias.col, p.fmt);
  rm_pair s = rm_pair_two_sum(sums.hi, bias);
  s.lo += sums.lo;
  err2 += tu * vf64_abs(bias) * rm_bound_dd_ratio(p.k);
  if (rm_decide_sum_b64(s, err2, p.out_fmt, bits)) return true;
  if (!granules) return false;
  const int gb = rm_granule64(rm_bits64(bias)), g = products < gb ? products : gb;
  if (!(err2 < rm_pow2(g > 1000 ? 1000 : g))) return false;
  *bits = rm_round_double(rm_pair_to_odd(s.hi, s.lo), p.out_fmt);
  return true;
}

/* Calls f(x, y) for a thread's factors: each `parts`-th term from `part` on. load_x(k) and load_y(k) are those of index k.
 * Beyond the last term the factors are 0, which add nothing to any sum. */
template <int ahead, class X, class Y, class F>
__device__ void retry_terms(int64_t terms, int part, int parts, X load_x, Y load_y, F f) {
  for (int64_t k0 = part; k0 < terms; k0 += static_cast<int64_t>(ahead) * parts) {
    double x[ahead], y[ahead];
    RM_UNROLL for (int a = 0; a < ahead; a++) { /* without a branch: all loads are on their way before the first is needed */
      const int64_t next = k0 + static_cast<int64_t>(a) * parts, k = next < terms ? next : terms - 1;
      x[a] = load_x(k), y[a] = load_y(k);
      if (next >= terms) x[a] = y[a] = 0.0;
    }
    RM_UNROLL for (int a = 0; a < ahead; a++) f(x[a], y[a]);
  }
}

/* The undecided element of a thread: row and column of a product. */
struct retry_place {
  int64_t which, r, c;
};
__device__ inline retry_place retry_place_of(const device_problem &d, int64_t bit) {
  const int64_t product = d.p.m * d.p.n;
  return retry_place{bit / product, bit % product / d.p.n, bit % d.p.n};
}

template <int fmt, class F>
__device__ void retry_factors(const device_problem &d, const retry_place &at, int part, int parts, F f) {
  rm_operand a = d.p.a, b = d.p.b;
  a.base += at.which * d.p.next_a, b.base += at.which * d.p.next_b;
  if (a.im2col) a.im2col = &d.a;
  if (b.im2col) b.im2col = &d.b;
  if (!a.im2col && !b.im2col && d.a_aligned && d.b_aligned) {
    const char *const x = a.base + at.r * a.row_stride, *const y = b.base + at.c * b.row_stride;
    const ptrdiff_t step_x = a.k_stride, step_y = b.k_stride;
    retry_terms<RM_RETRY_AHEAD>(
        d.p.k, part, parts, [=](int64_t k) { return read<fmt>(x + k * step_x, true); },
        [=](int64_t k) { return read<fmt>(y + k * step_y, true); }, f);
    return;
  }
  const spot row = spot_of(a, at.r, false), col = spot_of(b, at.c, false);
  retry_terms<1>(
      d.p.k, part, parts, [&](int64_t k) { return im2col_element<fmt>(a, row, spot_of(a, k, true), d.a_aligned); },
      [&](int64_t k) { return im2col_element<fmt>(b, col, spot_of(b, k, true), d.b_aligned); }, f);
}

/* Joins the parts of each element in `part`, and leaves the whole with its first thread. Part p of element e is that of
 * thread p width + e. */
template <class T> __device__ void retry_join(T *part, int width) {
  const int t = static_cast<int>(threadIdx.x);
  for (int half = RM_RETRY_THREADS / 2; half >= width; half /= 2) {
    __syncthreads();
    if (t < half) part[t].join(part[t + half]);
  }
  __syncthreads();
}

/* The places of the bits that are set in the words, in their order. Returns how many there are. */
__device__ inline int retry_list(retry_memory &m) {
  const int t = static_cast<int>(threadIdx.x);
  int own = 0, count = 0, before = 0;
  if (t < RM_RETRY_WORDS) {
    for (uint32_t bits = m.word[t]; bits; bits &= bits - 1) own++;
    m.count[t] = own;
  }
  __syncthreads();
  for (int w = 0; w < RM_RETRY_WORDS; w++) {
    if (w == t) before = count;
    count += m.count[w];
  }
  if (t < RM_RETRY_WORDS)
    for (uint32_t bits = m.word[t]; bits; bits &= bits - 1) m.list[before++] = static_cast<uint16_t>(t * 32 + rm_ctz64(bits));
  __syncthreads();
  return count;
}

/* Decides up to RM_RETRY_THREADS elements of the list from the first-th on. bit0: the place of the first word. */
template <int fmt> __device__ void retry_round(retry_memory &m, const device_problem &d, int first, int count, int64_t bit0) {
  const int t = static_cast<int>(threadIdx.x), here = count - first < RM_RETRY_THREADS ? count - first : RM_RETRY_THREADS;
  int width = 1; /* threads that have different elements */
  while (width < here) width *= 2;
  const int element = t % width, part = t / width, parts = RM_RETRY_THREADS / width;
  const bool active = element < here;
  const int bit = m.list[first + (active ? element : 0)];
  const retry_place at = retry_place_of(d, bit0 + bit);
  retry_sums sums = {0.0, 0.0, 0.0, 0.0};
  if (active) retry_factors<fmt>(d, at, part, parts, [&](double x, double y) { sums.add(x, y); });
  m.sums[t] = sums;
  if (t == 0) m.open = 0;
  retry_join(m.sums, width);
  auto decide = [&](const retry_granules *granules) {
    const rm_matmul_problem p = problem_of(d, at.which);
    char *const to = address_in_c(p, at.r, at.c);
    uint64_t bits;
    if (!retry_bits(p, at.r, at.c, m.sums[t], granules, to, &bits)) return false;
    rm_write_bits(to, bits, p.out_fmt);
    return true;
  };
  const uint32_t mask = 1u << (bit % 32);
  const bool open = active && part == 0 && !decide(nullptr);
  if (open) atomicOr(&m.left[bit / 32], mask), atomicOr(&m.open, 1u);
  __syncthreads();
  if (m.open) { /* granules of the elements whose bits are left */
    retry_granules granules = {RM_NO_GRANULE, RM_NO_GRANULE};
    if (active && (m.left[bit / 32] & mask))
      retry_factors<fmt>(d, at, part, parts, [&](double x, double y) { granules.add(x, y); });
    m.granules[t] = granules;
    retry_join(m.granules, width);
    if (open && decide(&m.granules[t])) atomicAnd(&m.left[bit / 32], ~mask);
  }
  __syncthreads(); /* the memory is free for the next round */
}

/* each: words that a block looks through at a time, at most RM_RETRY_WORDS. */
template <int fmt>
__global__ void __launch_bounds__(RM_RETRY_THREADS, 2)
    retry_kernel(const __grid_constant__ device_problem d, rm_undecided_set undecided, int64_t each) {
  __shared__ retry_memory m;
  const int64_t words = undecided.words();
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * each; first < words; first += gridDim.x * each) {
    if (t < RM_RETRY_WORDS) {
      m.word[t] = t < each && first + t < words ? undecided.map()[first + t] : 0;
      m.left[t] = 0;
    }
    const int count = retry_list(m); /* with a barrier before anything is read */
    for (int done = 0; done < count; done += RM_RETRY_THREADS) retry_round<fmt>(m, d, done, count, first * 32);
    if (count && t < RM_RETRY_WORDS && m.word[t]) undecided.list_bits(first + t, m.left[t]);
    __syncthreads(); /* all have read the words */
  }
}

/* The words of a block: few where there are few in all, so that all of a device's multiprocessors have some. */
inline int64_t retry_words_each(int64_t words) {
  const int64_t each = words / 2048;
  return each < 4 ? 4 : each < RM_RETRY_WORDS ? each : static_cast<int64_t>(RM_RETRY_WORDS);
}

} // namespace

#endif
