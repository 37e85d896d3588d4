/* The fast phase of rows that fit into a multiprocessor's shared memory in their own format, long ones below binary64 and any
 * of binary64, whose results are all computed in double-double: each is read from memory once. All threads of a block share a
 * row, as in rows_fast.h, and what is undecided of it is computed again at once in double-double, by the same block. What
 * stays undecided then, and most rows with numbers that are not finite, are left to the accurate phase (rows_accurate.h);
 * where results have been stored in the place of such a row, it is put back first.
 *
 * A block needs 16.5 KiB beside the row. Compute capability 9.0 has 227 KiB, room for 53,800 numbers of f32 (50,257 take 196
 * KiB); 8.0 has 163 KiB, for 37,500; 8.6, 8.9 and 12.0 have 99 KiB, for 21,100. Twice as many of 16 bits fit, half as many of
 * binary64. Longer rows take the buffers of rows_fast.h: on 8.6, 8.9 and 12.0 those of 50,257 in any format.
 *
 * Bounds: the sums of row_loops.h, whose threads are fewer. */
#pragma once

#include "rows_fast.h"

#include "../../crlibm/enclosure/dd_ball.h"

#include <type_traits>

namespace {

#ifndef RM_CFG_WHOLE_WIDE
#define RM_CFG_WHOLE_WIDE (1 << 20) /* numbers of binary64 in a row */
#endif
#ifndef RM_CFG_WHOLE_THREADS
#define RM_CFG_WHOLE_THREADS 512 /* a power of two; a multiprocessor has one such block of the longest rows */
#endif
enum {
  RM_WHOLE_THREADS = RM_CFG_WHOLE_THREADS,
  RM_WHOLE_OPEN = 64, /* undecided results that a row may have */
  RM_WHOLE_GROUP = 4 /* numbers that a thread computes beside each other, to hide latencies */
};
static_assert(RM_ROW_CHAIN % RM_WHOLE_GROUP == 0, "chains are whole groups");

/* Joins the values of all threads and gives the result to each of them. All calls have one piece of memory, since it is what
 * a row leaves over. */
__device__ inline char *whole_parts() {
  __shared__ double parts[4 * RM_WHOLE_THREADS];
  return reinterpret_cast<char *>(parts);
}
template <class Join, class T> __device__ T of_whole(const T &mine) {
  static_assert(sizeof(T) <= 4 * sizeof(double), "the memory of a thread");
  T *const part = reinterpret_cast<T *>(whole_parts());
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads(); /* the result before has been read */
  part[t] = mine;
  for (int half = RM_WHOLE_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] = Join::of(part[t], part[t + half]);
  }
  __syncthreads();
  return part[0];
}
struct join_balls {
  static __device__ rm_dd_ball of(rm_dd_ball a, const rm_dd_ball &b) {
    rm_dd_ball_add(&a, &a, &b);
    return a;
  }
};

template <int fmt> struct whole_element {
  typedef uint16_t type;
};
template <> struct whole_element<RM_F32> {
  typedef float type;
};
template <> struct whole_element<RM_F64> {
  typedef double type;
};

/* A row in shared memory, as it lay in memory. */
template <int fmt> struct whole_row {
  typedef typename whole_element<fmt>::type T;
  const T *x;
  int64_t n;
  __device__ double at(int64_t i) const { return element_of(reinterpret_cast<const char *>(x + i), fmt, true); }
};

/* Calls f(i, value of i) for this thread's elements, in their order, RM_WHOLE_GROUP of them beside each other: give(i) finds
 * a value, and has no effect. */
template <class Give, class F> __device__ void each_of_whole(int64_t n, Give give, F f) {
  for (int64_t i = threadIdx.x; i < n; i += RM_WHOLE_GROUP * RM_WHOLE_THREADS) {
    decltype(give(i)) v[RM_WHOLE_GROUP];
    RM_UNROLL for (int g = 0; g < RM_WHOLE_GROUP; g++) {
      const int64_t k = i + g * RM_WHOLE_THREADS;
      v[g] = give(k < n ? k : n - 1); /* without a branch */
    }
    RM_UNROLL for (int g = 0; g < RM_WHOLE_GROUP; g++) {
      const int64_t k = i + g * RM_WHOLE_THREADS;
      if (k < n) f(k, v[g]);
    }
  }
}

/* Loads a row of n elements to `memory`, 16 bytes at a time where they are next to each other. */
template <int fmt> __device__ whole_row<fmt> whole_load(char *memory, const char *from, ptrdiff_t stride, int64_t n) {
  typedef typename whole_element<fmt>::type T;
  const int size = sizeof(T), t = static_cast<int>(threadIdx.x);
  const bool by_words = are_words(from, stride, size), packed = by_words && stride == size;
  const int64_t before = packed ? static_cast<int64_t>(reinterpret_cast<uintptr_t>(from) % sizeof(packed_elements)) : 0;
  T *const x = reinterpret_cast<T *>(memory + before); /* as far from a multiple of 16 as there */
  __syncthreads(); /* the row before is not needed any more */
  int64_t head = packed ? (before ? (16 - before) / size : 0) : n;
  if (head > n) head = n;
  const int64_t words = (n - head) * size / 16, rest = head + words * 16 / size;
  const packed_elements *const words_from = reinterpret_cast<const packed_elements *>(from + head * stride);
  packed_elements *const words_to = reinterpret_cast<packed_elements *>(x + head);
  each_of_whole(
      words, [=](int64_t i) { return words_from[i]; }, [=](int64_t i, const packed_elements &v) { words_to[i] = v; });
  for (int64_t i = t; i < head; i += RM_WHOLE_THREADS) x[i] = element<T>::load(from + i * stride, by_words);
  for (int64_t i = rest + t; i < n; i += RM_WHOLE_THREADS) x[i] = element<T>::load(from + i * stride, by_words);
  __syncthreads();
  return whole_row<fmt>{x, n};
}

/* Puts the row back, if its results have been stored in its place. */
template <int fmt> __device__ void whole_put_back(const whole_row<fmt> &row, const char *from, char *to, ptrdiff_t stride) {
  typedef typename whole_element<fmt>::type T;
  if (to != from) return;
  const bool by_words = are_words(to, stride, sizeof(T));
  __syncthreads();
  for (int64_t i = threadIdx.x; i < row.n; i += RM_WHOLE_THREADS) element<T>::store(to + i * stride, row.x[i], by_words);
}

/* Stores n results with the same bits. */
template <int fmt> __device__ void whole_fill(char *out, ptrdiff_t stride, int64_t n, uint64_t bits) {
  typedef typename whole_element<fmt>::type T;
  const bool by_words = are_words(out, stride, sizeof(T));
  T result;
  rm_write_bits(reinterpret_cast<char *>(&result), bits, fmt);
  for (int64_t i = threadIdx.x; i < n; i += RM_WHOLE_THREADS) element<T>::store(out + i * stride, result, by_words);
}

/* The maximum; NaN where there is one. */
template <int fmt> __device__ double whole_max(const whole_row<fmt> &row) {
  typedef typename std::conditional<fmt == RM_F64, double, float>::type number; /* exact */
  number max = static_cast<number>(row.at(0));
  for (int64_t i = threadIdx.x; i < row.n; i += RM_WHOLE_THREADS) {
    const number v = static_cast<number>(row.at(i));
    max = max != max || max >= v ? max : v;
  }
  return of_whole<join_max>(static_cast<double>(max));
}
/* The first element equal to value, which is there. */
template <int fmt> __device__ int64_t whole_first(const whole_row<fmt> &row, double value) {
  int64_t i = threadIdx.x;
  while (i < row.n && row.at(i) != value) i += RM_WHOLE_THREADS;
  return of_whole<join_min>(i);
}

/* The undecided results of a row. */
struct whole_open {
  unsigned count, failed;
  int64_t at[RM_WHOLE_OPEN];
};
__device__ inline whole_open &whole_open_results() {
  __shared__ whole_open open;
  return open;
}
/* Before results are stored: nothing is undecided. */
__device__ inline whole_open &whole_begin_store() {
  whole_open &open = whole_open_results();
  __syncthreads();
  if (threadIdx.x == 0) open.count = open.failed = 0;
  __syncthreads();
  return open;
}

/* Stores results: bounded(i, &y, &err) says what result i is near to and how near, as rm_row_bounded does, and
 * known(i, &bits) which it is where that does not decide it, or returns false. To be called after whole_begin_store; then all
 * threads have stored theirs. */
template <int fmt, class Bounded, class Known>
__device__ void whole_store(int64_t n, char *out, ptrdiff_t stride, Bounded bounded, Known known) {
  typedef typename whole_element<fmt>::type T;
  whole_open &open = whole_open_results();
  const bool by_words = are_words(out, stride, sizeof(T));
  struct tested {
    double y, err;
    bool is_undecided;
  };
  each_of_whole(
      n,
      [&](int64_t i) {
        tested v;
        bounded(i, &v.y, &v.err);
        v.is_undecided = !vm64_none(rm_row_doubt(v.y, v.err, fmt));
        return v;
      },
      [&](int64_t i, const tested &v) {
        T result;
        uint64_t bits;
        rm_row_put(v.y, fmt, &result, 0, 1);
        if (v.is_undecided) {
          if (!known(i, &bits) && (fmt == RM_F32 || !rm_row_decide(v.y, v.err, fmt, &bits))) {
            const unsigned k = atomicAdd(&open.count, 1u);
            if (k < RM_WHOLE_OPEN) open.at[k] = i;
            return;
          }
          rm_write_bits(reinterpret_cast<char *>(&result), bits, fmt);
        }
        element<T>::store(out + i * stride, result, by_words);
      });
  __syncthreads();
}

/* Decides the undecided results, by a thread each: decide(i, &bits). false: some stay undecided. */
template <int fmt, class F> __device__ bool whole_decide(char *out, ptrdiff_t stride, F decide) {
  typedef typename whole_element<fmt>::type T;
  whole_open &open = whole_open_results();
  const bool by_words = are_words(out, stride, sizeof(T));
  for (unsigned k = threadIdx.x; k < open.count; k += RM_WHOLE_THREADS) {
    uint64_t bits;
    T result;
    if (!decide(open.at[k], &bits)) {
      open.failed = 1;
      continue;
    }
    rm_write_bits(reinterpret_cast<char *>(&result), bits, fmt);
    element<T>::store(out + open.at[k] * stride, result, by_words);
  }
  __syncthreads();
  return !open.failed;
}

/* Decides all of n results instead, up to the first that a thread cannot. To be called after whole_begin_store. */
template <int fmt, class F> __device__ bool whole_decide_all(int64_t n, char *out, ptrdiff_t stride, F decide) {
  typedef typename whole_element<fmt>::type T;
  whole_open &open = whole_open_results();
  const bool by_words = are_words(out, stride, sizeof(T));
  for (int64_t i = threadIdx.x; i < n; i += RM_WHOLE_THREADS) {
    uint64_t bits;
    T result;
    if (!decide(i, &bits)) {
      open.failed = 1;
      break;
    }
    rm_write_bits(reinterpret_cast<char *>(&result), bits, fmt);
    element<T>::store(out + i * stride, result, by_words);
  }
  __syncthreads();
  return !open.failed;
}

/* row: stores the results of a row, and returns whether all are decided; all threads of the block call it. */
template <class Operation> using whole_fn = bool(const Operation &f, int64_t row, char *memory);
template <class Operation, whole_fn<Operation> *row>
__global__ void __launch_bounds__(RM_WHOLE_THREADS)
    whole_kernel(const __grid_constant__ Operation f, int64_t rows, rm_undecided_set undecided) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x)
    if (!row(f, i, shared_rows()) && threadIdx.x == 0) undecided.add(i);
}

/* Launches it; false where a row does not fit. */
template <class Operation, whole_fn<Operation> *row>
bool each_whole_row(const Operation &f, int64_t rows, int64_t n, const rm_undecided_set &undecided, cudaStream_t stream) {
  const int64_t most = f.format == RM_F64 ? RM_CFG_WHOLE_WIDE : 1 << 20; /* more than any device has room for */
  if (n == 0 || n > most) return false;
  const int64_t bytes = n * rm_size_of(f.format) + static_cast<int64_t>(sizeof(packed_elements));
  if (!whole_row_fits(whole_kernel<Operation, row>, bytes)) return false;
  RM_LAUNCH_SHARED((whole_kernel<Operation, row>), rows < 1 << 20 ? rows : 1 << 20, RM_WHOLE_THREADS, bytes, stream, f, rows,
                   undecided);
  return true;
}

} // namespace
