/* Approximate sums of many rows: each thread adds a part, and the parts are joined to a sum and its bound for each row.
 *
 * A thread block has `across` rows side by side and `lanes` threads for each of them, arranged so that loads are coalesced.
 * Where the terms of a row are neighbours in memory, so are its lanes, and they read 16 bytes at a time if all rows are
 * aligned to that; where rows are nearer to each other than terms (sums of columns), neighbouring threads have neighbouring
 * rows. Long rows are split into spans, each added by a thread block.
 *
 * Bounds (reduce/sum_parts.h): a thread adds accumulation chains of at most RM_CHAIN terms, and each chain to its sum by a
 * two-sum. Plain: the error of a chain is at most RM_CHAIN u' times the A of its terms, two additions less than counted
 * there. Compensated: a term passes at most RM_CHAIN additions in its chain, one for each chain of its thread, and one for
 * each join of threads, in a tree, and of spans; all are counted in `depth`, and `size` passes as many. A chain's errors are
 * summed apart and join the sum of errors in two additions, where the main sum has one. So the conditions hold from which
 * these bounds are derived. */
#ifndef RM_CUDA_ROW_TOTALS_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_ROW_TOTALS_H

#include "loads.h"

#include "../../crlibm/simd/machine.h"
#include "../reduce/sum_parts.h"
#include "../reduce/variance_parts.h"

#include "exact_sums.h"

namespace {

#ifndef RM_CFG_ROW_THREADS
#define RM_CFG_ROW_THREADS 256 /* a power of two */
#endif
enum {
  SUM_THREADS = RM_CFG_ROW_THREADS,
  SUM_RESIDENT =
      3, /* resident blocks of a multiprocessor: enough threads to hide the latency of memory, with enough registers each */
  SUM_ACROSS = SUM_THREADS / 8, /* rows side by side that are read together */
  SUM_BLOCKS = 2048 /* rows are split until there are about so many */
};

enum sum_kind { OF_TERMS, OF_PRODUCTS, OF_DEVIATIONS };
enum sum_access { BY_BYTES, BY_WORDS, PACKED };

/* Terms of an accumulation chain. */
enum { SUM_CHAIN = RM_CHAIN, SUM_CHAIN_F64 = RM_CHAIN / 2 };

/* Rows of terms, or of products of them: y NULL or not. */
struct sum_rows {
  int fmt;
  int64_t rows, n;
  const char *x, *y;
  ptrdiff_t row_x, sx, row_y, sy;
  __device__ rm_sum_problem row(int64_t i) const {
    return {n, {x + i * row_x, sx}, {y ? y + i * row_y : nullptr, sy}, fmt, nullptr};
  }
};

/* How they are divided among threads. */
struct sum_plan {
  sum_access access;
  int rows_first, across, lanes;
  int64_t groups, splits, span; /* groups of `across` rows; spans of a row, and terms of a span */
  explicit sum_plan(const sum_rows &s) {
    const auto size = [](ptrdiff_t d) { return d < 0 ? -static_cast<uint64_t>(d) : static_cast<uint64_t>(d); };
    const int chain = s.fmt == RM_F64 ? SUM_CHAIN_F64 : SUM_CHAIN, width = s.fmt == RM_F64 ? 8 : s.fmt == RM_F32 ? 4 : 2;
    const uintptr_t addresses = reinterpret_cast<uintptr_t>(s.x) | reinterpret_cast<uintptr_t>(s.y) | size(s.sx) |
                                size(s.sy) | (s.rows > 1 ? size(s.row_x) | size(s.row_y) : 0);
    const uintptr_t rows_at = reinterpret_cast<uintptr_t>(s.x) | reinterpret_cast<uintptr_t>(s.y) |
                              (s.rows > 1 ? size(s.row_x) | size(s.row_y) : 0);
    access = s.sx == width && (!s.y || s.sy == width) && rows_at % sizeof(packed_elements) == 0 ? PACKED
             : addresses % static_cast<uintptr_t>(width) == 0                                   ? BY_WORDS
                                                                                                : BY_BYTES;
    rows_first = s.rows > 1 && s.n > 1 && size(s.row_x) < size(s.sx);
    const int64_t worth = rows_first ? (s.n + 7) / 8 : (s.n + chain - 1) / chain;
    lanes = 1;
    while (lanes < worth && lanes < (rows_first ? SUM_THREADS / SUM_ACROSS : SUM_THREADS)) lanes *= 2;
    across = SUM_THREADS / lanes;
    groups = (s.rows + across - 1) / across;
    const int64_t tile = static_cast<int64_t>(lanes) * chain, tiles = s.n ? (s.n + tile - 1) / tile : 1;
    splits = groups < SUM_BLOCKS ? (SUM_BLOCKS + groups - 1) / groups : 1;
    if (splits > tiles) splits = tiles;
    span = (tiles + splits - 1) / splits * tile;
    splits = s.n ? (s.n + span - 1) / span : 1;
  }
  int64_t items() const { return groups * splits; }
  __device__ int64_t end(int64_t split, int64_t n) const { return (split + 1) * span < n ? (split + 1) * span : n; }
};

/* A thread's sum of accumulation chains. */
template <int fmt, sum_kind kind, bool compensated> struct thread_sum {
  rm_partial sum = {0.0, 0.0, 0.0, RM_CHAIN};
  double shift, s = 0.0, e = 0.0, w = 0.0;
  __device__ explicit thread_sum(double c) : shift(c) {}
  __device__ void add(double x, double y) {
    double t, low = 0.0, p = x;
    if (kind == OF_DEVIATIONS && compensated) {
      double below;
      const double d = vf64_two_sum(x, -shift, &below);
      p = d * d;
      low = vf64_mul_err(d, d, p) + (d + d) * below;
    } else if (kind == OF_DEVIATIONS) {
      const double d = x - shift;
      p = d * d;
    } else if (kind == OF_PRODUCTS) {
      p = x * y;
      if (compensated && fmt == RM_F64) low = vf64_mul_err(x, y, p);
    }
    if (compensated) {
      s = vf64_two_sum(s, p, &t);
      e += t + low;
    } else {
      s += p;
    }
    w += __builtin_fabs(p);
  }
  __device__ void end_chain() {
    double t;
    sum.hi = vf64_two_sum(sum.hi, s, &t);
    sum.lo += t + e;
    sum.size += w;
    sum.depth += 1.0;
    s = e = w = 0.0;
  }
};

/* Adds the terms from begin to end of a row that belong to one of its lanes. A few loads are issued before their additions,
 * to hide their latency. */
template <int fmt, sum_kind kind, bool compensated>
__device__ rm_partial sum_of_lane(const sum_plan &plan, const rm_sum_problem &p, int64_t begin, int64_t end, int lane,
                                  double shift) {
  constexpr int width = fmt == RM_F64 ? 8 : fmt == RM_F32 ? 4 : 2, chain = fmt == RM_F64 ? SUM_CHAIN_F64 : SUM_CHAIN;
  constexpr int pack = static_cast<int>(sizeof(packed_elements)) / width, packs = 4, words = 8;
  static_assert(chain % (packs * pack) == 0 && chain % words == 0, "whole chains");
  thread_sum<fmt, kind, compensated> sum(shift);
  const char *const x = p.x.base, *const y = p.y.base;
  const int64_t lanes = plan.lanes;
  if (plan.access == PACKED) {
    const int64_t whole = end - (end - begin) % pack; /* the last terms do not fill a pack */
    for (int64_t i = begin + lane * pack; i < whole;) {
      for (int c = 0; c < chain && i < whole; c += packs * pack, i += lanes * packs * pack) {
        packed_elements a[packs], b[packs];
        RM_UNROLL
        for (int k = 0; k < packs; k++) {
          const int64_t at = i + k * lanes * pack;
          if (at >= whole) continue;
          a[k] = *reinterpret_cast<const packed_elements *>(x + at * width);
          if (kind == OF_PRODUCTS) b[k] = *reinterpret_cast<const packed_elements *>(y + at * width);
        }
        RM_UNROLL
        for (int k = 0; k < packs; k++) {
          if (i + k * lanes * pack >= whole) continue;
          RM_UNROLL
          for (int j = 0; j < pack; j++)
            sum.add(element_of(a[k], fmt, j), kind == OF_PRODUCTS ? element_of(b[k], fmt, j) : 0.0);
        }
      }
      sum.end_chain();
    }
    for (int64_t i = whole + lane; i < end; i += lanes) /* fewer than a chain */
      sum.add(element_of(x + i * width, fmt, true), kind == OF_PRODUCTS ? element_of(y + i * width, fmt, true) : 0.0);
    sum.end_chain();
  } else if (plan.access == BY_WORDS) {
    for (int64_t i = begin + lane; i < end;) {
      for (int c = 0; c < chain && i < end; c += words, i += lanes * words) {
        double a[words], b[words];
        RM_UNROLL
        for (int k = 0; k < words; k++) {
          const int64_t at = i + k * lanes;
          if (at >= end) continue;
          a[k] = element_of(x + at * p.x.stride, fmt, true);
          if (kind == OF_PRODUCTS) b[k] = element_of(y + at * p.y.stride, fmt, true);
        }
        RM_UNROLL
        for (int k = 0; k < words; k++)
          if (i + k * lanes < end) sum.add(a[k], kind == OF_PRODUCTS ? b[k] : 0.0);
      }
      sum.end_chain();
    }
  } else {
    for (int64_t i = begin + lane; i < end;) {
      for (int k = 0; k < chain && i < end; k++, i += lanes)
        sum.add(element_of(x + i * p.x.stride, fmt, false),
                kind == OF_PRODUCTS ? element_of(y + i * p.y.stride, fmt, false) : 0.0);
      sum.end_chain();
    }
  }
  return sum.sum;
}

/* Joins the parts of `lanes` threads, `apart` from each other, in the part of the first of them. All threads of the block
 * call it. */
__device__ inline void join_lanes(rm_partial *part, rm_partial mine, int lane, int lanes, int apart) {
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads(); /* the parts of the last call have been read */
  part[t] = mine;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) rm_partial_join(part + t, part + t + half * apart);
  }
  __syncthreads();
}

/* Gives each row's sum to conclude(row, sum), or stores it in `parts` where rows are split. */
template <int fmt, sum_kind kind, bool compensated, class F>
__global__ void __launch_bounds__(SUM_THREADS, kind == OF_PRODUCTS ? 2 : SUM_RESIDENT)
    row_parts_kernel(sum_rows s, sum_plan plan, rm_partial *parts, F conclude) {
  __shared__ rm_partial part[SUM_THREADS];
  const int t = static_cast<int>(threadIdx.x);
  const int in_group = plan.rows_first ? t % plan.across : t / plan.lanes,
            lane = plan.rows_first ? t / plan.across : t % plan.lanes;
  for (int64_t item = blockIdx.x; item < plan.groups * plan.splits; item += gridDim.x) {
    const int64_t group = item / plan.splits, split = item % plan.splits, row = group * plan.across + in_group;
    rm_partial mine = {0.0, 0.0, 0.0, RM_CHAIN};
    if (row < s.rows) {
      const rm_sum_problem p = s.row(row);
      const double shift = kind == OF_DEVIATIONS ? conclude.shift(row) : 0.0;
      mine = sum_of_lane<fmt, kind, compensated>(plan, p, split * plan.span, plan.end(split, s.n), lane, shift);
    }
    join_lanes(part, mine, lane, plan.lanes, plan.rows_first ? plan.across : 1);
    const int64_t mine_to_end = group * plan.across + t;
    if (t >= plan.across || mine_to_end >= s.rows) continue;
    const rm_partial sum = part[plan.rows_first ? t : t * plan.lanes];
    if (plan.splits > 1) parts[mine_to_end * plan.splits + split] = sum;
    else conclude(mine_to_end, sum);
  }
}

template <class F>
__global__ void __launch_bounds__(SUM_THREADS)
    row_join_kernel(int64_t rows, int64_t splits, const rm_partial *parts, F conclude) {
  __shared__ rm_partial part[SUM_THREADS];
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    rm_partial mine = {0.0, 0.0, 0.0, RM_CHAIN};
    for (int64_t k = t; k < splits; k += SUM_THREADS) rm_partial_join(&mine, parts + row * splits + k);
    join_lanes(part, mine, t, SUM_THREADS, 1);
    if (t == 0) conclude(row, part[0]);
  }
}

inline int64_t no_more_than(int64_t n, int64_t limit) { return n < limit ? n : limit; }

template <int fmt, sum_kind kind, bool compensated, class F>
void row_totals_of(const sum_rows &s, const sum_plan &plan, rm_partial *parts, const F &conclude, cudaStream_t stream) {
  RM_LAUNCH((row_parts_kernel<fmt, kind, compensated, F>), no_more_than(plan.items(), 1 << 20), SUM_THREADS, stream, s, plan,
            parts, conclude);
  if (plan.splits > 1)
    RM_LAUNCH((row_join_kernel<F>), no_more_than(s.rows, 1 << 16), SUM_THREADS, stream, s.rows, plan.splits, parts, conclude);
}

/* Runs conclude(row, sum) for each row, on the device; deviations are taken from conclude.shift(row). Binary64 has
 * compensated sums only. */
template <sum_kind kind, bool compensated, class F>
void row_totals(const sum_rows &s, const sum_plan &plan, rm_partial *parts, const F &conclude, cudaStream_t stream) {
  switch (s.fmt) {
    case RM_F16: row_totals_of<RM_F16, kind, compensated>(s, plan, parts, conclude, stream); break;
    case RM_BF16: row_totals_of<RM_BF16, kind, compensated>(s, plan, parts, conclude, stream); break;
    case RM_F32: row_totals_of<RM_F32, kind, compensated>(s, plan, parts, conclude, stream); break;
    default:
      if constexpr (compensated) row_totals_of<RM_F64, kind, true>(s, plan, parts, conclude, stream);
  }
}

} // namespace

#endif
