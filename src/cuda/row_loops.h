/* The loops of nn/rows/kernels.h over a row, divided among all threads of a block.
 *
 * Bounds: a thread is a lane of the loops in nn/rows/loops.h. It adds RM_ROW_CHAIN terms in one accumulation chain, where the
 * CPU joins four, and joins chains by two-sums; threads are joined by two-sums too, in a tree. That rounds less often than
 * nn/rows/step.h allows, so that its bounds hold. Sums with a bound of their own (reduce/sum_parts.h) count the additions of
 * a term in `depth`.
 *
 * A row is longer than the caches, and a block has few warps: a thread that waited for each of its elements would take the
 * latency of memory for every one. So the loads of RM_ROW_GROUP elements are on their way before the first is needed. Between
 * them nothing is stored, beyond which the compiler could move no load. */
#pragma once

#include "loads.h"
#include "rows.h"

#include "row_sums.h"

#include "../nn/rows/step.h"

namespace {

/* A barrier for all threads of the block. With RM_LED_BLOCKS one thread arrives from another place in the program than the
 * others of its warp, which the aligned barrier of __syncthreads() does not allow (PTX, barrier.sync). */
__device__ inline void block_sync() {
#if defined(RM_LED_BLOCKS) && !defined(RM_CFG_EMULATE_DEVICE)
  asm volatile("barrier.sync 0;" ::: "memory");
#else
  __syncthreads();
#endif
}

#ifndef RM_CFG_ROW_THREADS
#define RM_CFG_ROW_THREADS 256 /* a power of two */
#endif
enum { RM_ROW_THREADS = RM_CFG_ROW_THREADS, RM_ROW_GROUP = 8 };
static_assert(RM_ROW_CHAIN % RM_ROW_GROUP == 0, "chains are whole groups");

/* Calls f(i, load(i)) for up to RM_ROW_GROUP of this thread's elements, from *at below n on, in their order. */
template <int ahead = RM_ROW_GROUP, class Load, class F>
__device__ void next_elements(int64_t n, int64_t *at, Load load, F f) {
  decltype(load(n)) v[ahead];
  RM_UNROLL for (int a = 0; a < ahead; a++) {
    const int64_t i = *at + a * RM_ROW_THREADS;
    v[a] = load(i < n ? i : n - 1); /* without a branch */
  }
  RM_UNROLL for (int a = 0; a < ahead; a++) if (*at + a * RM_ROW_THREADS < n) f(*at + a * RM_ROW_THREADS, v[a]);
  *at += ahead * RM_ROW_THREADS;
}
template <class Load, class F> __device__ void each_element(int64_t n, Load load, F f) {
  for (int64_t i = threadIdx.x; i < n;) next_elements(n, &i, load, f);
}

/* Joins the values of all threads and gives the result to each of them. It is a barrier too: all see what any wrote to memory
 * before. */
template <class Join, class T> __device__ T of_block(T mine) {
  __shared__ T part[RM_ROW_THREADS];
  const int t = static_cast<int>(threadIdx.x);
  block_sync();
  part[t] = mine;
  for (int half = RM_ROW_THREADS / 2; half > 0; half /= 2) {
    block_sync();
    if (t < half) part[t] = Join::of(part[t], part[t + half]);
  }
  block_sync();
  return part[0];
}

/* Whether numbers of so many bytes at these addresses are words. */
__device__ inline bool are_words(const char *x, ptrdiff_t stride, int size) {
  return (reinterpret_cast<uintptr_t>(x) | static_cast<uintptr_t>(stride)) % static_cast<uintptr_t>(size) == 0;
}

struct join_add {
  static __device__ int64_t of(int64_t a, int64_t b) { return a + b; }
};
struct join_min {
  static __device__ int64_t of(int64_t a, int64_t b) { return a < b ? a : b; }
};
struct join_max { /* NaN when there is one */
  static __device__ double of(double a, double b) { return rm_is_nan(a) || a >= b ? a : b; }
};
struct join_partial {
  static __device__ rm_partial of(rm_partial a, const rm_partial &b) {
    rm_partial_join(&a, &b);
    return a;
  }
};
template <int count> struct row_sums {
  rm_row_sum sum[count];
};
__device__ void add_to(rm_row_sum *sum, double x) {
  vf64 e;
  sum->hi = vf64_two_sum(sum->hi, x, &e);
  sum->lo = vf64_add(sum->lo, e);
}
struct join_sums {
  template <int count> static __device__ row_sums<count> of(row_sums<count> a, const row_sums<count> &b) {
    for (int k = 0; k < count; k++) {
      add_to(&a.sum[k], b.sum[k].hi);
      a.sum[k].lo = vf64_add(a.sum[k].lo, b.sum[k].lo);
    }
    return a;
  }
};

/* term(i, load(i), t) adds the terms of element i to t[0 ... count - 1]; every thread gets the sums over the row. */
template <int count, class Load, class F> __device__ void sums_of_row(int64_t n, Load load, F term, double *sums) {
  row_sums<count> mine;
  for (int k = 0; k < count; k++) mine.sum[k].hi = mine.sum[k].lo = 0.0;
  for (int64_t i = threadIdx.x; i < n;) {
    double chain[count];
    for (int k = 0; k < count; k++) chain[k] = 0.0;
    for (int c = 0; c < RM_ROW_CHAIN && i < n; c += RM_ROW_GROUP)
      next_elements(n, &i, load, [&](int64_t k, const auto &v) { term(k, v, chain); });
    for (int k = 0; k < count; k++) add_to(&mine.sum[k], chain[k]);
  }
  mine = of_block<join_sums>(mine);
  for (int k = 0; k < count; k++) sums[k] = mine.sum[k].hi + mine.sum[k].lo;
}

template <bool listed, int op, int fmt> __device__ int64_t store_as(const rm_row_store *s, unsigned *count) {
  struct tested {
    vf64 y, err;
    bool is_undecided;
  };
  int64_t undecided = 0;
  auto test = [=](int64_t i) {
    tested v;
    v.is_undecided = !vm64_none(rm_row_test(op, fmt, s, i, &v.y, &v.err));
    return v;
  };
  auto put = [&](int64_t i, const tested &v) {
    uint64_t bits;
    rm_row_put(v.y, fmt, s->out, i, s->n);
    if (!v.is_undecided) return;
    if (fmt != RM_F32 && rm_row_decide(v.y, v.err, fmt, &bits))
      rm_write_bits(static_cast<char *>(s->out) + i * rm_size_of(fmt), bits, fmt);
    else if (listed) s->undecided[atomicAdd(count, 1u)] = i;
    else undecided++;
  };
  for (int64_t i = threadIdx.x; i < s->n;) next_elements<RM_ROW_GROUP / 2>(s->n, &i, test, put);
  if (!listed) return of_block<join_add>(undecided);
  block_sync();
  return static_cast<int64_t>(*count);
}
template <bool listed, int op> __device__ int64_t store_format(const rm_row_store *s, unsigned *count) {
  switch (s->fmt) {
    case RM_F16: return store_as<listed, op, RM_F16>(s, count);
    case RM_BF16: return store_as<listed, op, RM_BF16>(s, count);
    default: return store_as<listed, op, RM_F32>(s, count);
  }
}

__device__ inline void block_load(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to) {
  const bool by_words = are_words(x, stride, rm_size_of(fmt));
  int64_t end = (n + RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
  if (end == 0) end = RM_ROW_PAD;
  block_sync();
  auto load = [=](int64_t i) { return element_of(x + i * stride, fmt, by_words); };
  each_element(n, load, [=](int64_t i, double v) { to[i] = v; });
  for (int64_t i = n + threadIdx.x; i < end; i += RM_ROW_THREADS) to[i] = pad;
  block_sync();
}

__device__ inline double block_max(int64_t n, const double *x) {
  double max = x[0];
  each_element(n, [=](int64_t i) { return x[i]; }, [&](int64_t, double v) { max = join_max::of(max, v); });
  max = of_block<join_max>(max);
  return !rm_is_nan(max) ? max : rm_from_bits64(rm_nan_bits(RM_F64));
}

__device__ inline double block_exponentials(int64_t n, const double *x, double shift, double *e) {
  double sum;
  block_sync();
  sums_of_row<1>(
      n, [=](int64_t i) { return x[i]; },
      [=](int64_t i, double from, double *t) {
        const double v = rm_row_exp(vf64_sub(from, shift));
        e[i] = v;
        t[0] = vf64_add(t[0], v);
      },
      &sum);
  return sum;
}

__device__ inline void block_moments(int64_t n, const double *x, double shift, double *total, double *square) {
  double sums[2];
  sums_of_row<2>(
      n, [=](int64_t i) { return x[i]; },
      [=](int64_t, double from, double *t) {
        const double v = vf64_sub(from, shift);
        t[0] = vf64_add(t[0], v);
        t[1] = vf64_mad(v, v, t[1]);
      },
      sums);
  *total = sums[0], *square = sums[1];
}

__device__ inline void block_weighted(int64_t n, const double *g, const double *w, const double *x, double shift, double *h,
                                      double *sums) {
  double found[3];
  struct weighted {
    double g, w, x;
  };
  sums_of_row<3>(
      n, [=](int64_t i) { return weighted{g[i], w[i], x[i]}; },
      [=](int64_t i, const weighted &from, double *t) {
        const double p = vf64_mul(from.g, from.w);
        h[i] = p;
        t[0] = vf64_add(t[0], p);
        t[1] = vf64_mad(p, p, t[1]);
        t[2] = vf64_mad(p, vf64_sub(from.x, shift), t[2]);
      },
      found);
  for (int k = 0; k < 3; k++) sums[k] = found[k];
}

__device__ inline int64_t block_first(int64_t n, const double *x, double value) {
  int64_t i = threadIdx.x;
  while (i < n && x[i] != value) i += RM_ROW_THREADS;
  return of_block<join_min>(i);
}

/* How many elements are undecided, or -1 for an operation that has no loop here. With `listed` their indices go to
 * s->undecided, in no order; *count, which all threads share, counts them and must begin as 0. */
template <bool listed> __device__ int64_t block_store(rm_row_operation op, const rm_row_store *s, unsigned *count) {
  block_sync();
  switch (op) {
    case RM_ROW_SCALED: return store_format<listed, RM_ROW_SCALED>(s, count);
    case RM_ROW_SHIFTED: return store_format<listed, RM_ROW_SHIFTED>(s, count);
    case RM_ROW_WEIGHTED: return store_format<listed, RM_ROW_WEIGHTED>(s, count);
    case RM_ROW_LESS_EXP: return store_format<listed, RM_ROW_LESS_EXP>(s, count);
    case RM_ROW_DIFFERENCE: return store_format<listed, RM_ROW_DIFFERENCE>(s, count);
    case RM_ROW_AFFINE: return store_format<listed, RM_ROW_AFFINE>(s, count);
    case RM_ROW_CENTERED: return store_format<listed, RM_ROW_CENTERED>(s, count);
    default: return -1;
  }
}

/* Stores n adjacent results of a format to elements with a stride. */
__device__ void block_spread(const char *results, char *to, ptrdiff_t stride, int64_t n, int format) {
  const int size = rm_size_of(format);
  const bool by_words = are_words(to, stride, size);
  block_sync();
  for (int64_t i = threadIdx.x; i < n; i += RM_ROW_THREADS) {
    if (format == RM_F64) element<double>::store(to + i * stride, element<double>::load(results + i * size, true), by_words);
    else if (format == RM_F32)
      element<float>::store(to + i * stride, element<float>::load(results + i * size, true), by_words);
    else element<uint16_t>::store(to + i * stride, element<uint16_t>::load(results + i * size, true), by_words);
  }
}

} // namespace
