/* Elementwise functions. In contiguous arrays a thread takes words of 16 bytes, so that accesses are wide and coalesced, and
 * runs the fast phase of the CPU's base build (crlibm/simd/fast_phase.h) on each of their elements; in other arrays it takes
 * one element through that build's whole loop. Of many 16-bit numbers a function's results are looked up (table.cu).
 *
 * Each function has a translation unit (cmake/functions.cmake writes them), which includes crlibm/<f>/<f>.h, <f>_accurate.h
 * and this file, and makes its launchers by RM_CUDA_FUNCTION. */
#pragma once

extern "C" { /* before the headers that include it too */
#include "../common/overlap.h"
}

#include "launch.h"
#include "table.h"

#include "../elementwise/kernels.h"
#include "../elementwise/map.h"

namespace {

/* The input arrays of a call, as a kernel takes them. */
struct rm_arrays {
  const char *x[RM_MAX_ARITY];
  ptrdiff_t stride[RM_MAX_ARITY];
  bool aligned[RM_MAX_ARITY];
};

/* F, the loop of one function and format, is called for one element. Its exception flags are dropped, since a device has
 * none. */
template <class T, int arity, rm_map_fn *F>
__global__ void map_kernel(int64_t n, rm_arrays in, char *y, ptrdiff_t sy, bool aligned_y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    T x[arity], out;
    const char *px[arity];
    for (int k = 0; k < arity; k++) {
      x[k] = element<T>::load(in.x[k] + i * in.stride[k], in.aligned[k]);
      px[k] = reinterpret_cast<const char *>(&x[k]);
    }
    F(1, px, reinterpret_cast<char *>(&out));
    element<T>::store(y + i * sy, out, aligned_y);
  }
}

/* How many elements of T a word of 16 bytes holds. */
template <class T> constexpr int in_word = 16 / sizeof(T);
template <class T> struct alignas(in_word<T> * sizeof(T)) word_of {
  T v[in_word<T>];
};

/* One element by the whole loop of its function, for elements that the fast phase leaves undecided and for the last few,
 * which do not fill a word. */
template <class T, int arity, rm_map_fn *F> RM_COLD __device__ T by_whole_loop(const T (&x)[arity]) {
  const char *px[arity];
  T out;
  for (int k = 0; k < arity; k++) px[k] = reinterpret_cast<const char *>(&x[k]);
  F(1, px, reinterpret_cast<char *>(&out));
  return out;
}

/* The words at `at` of all inputs. */
template <class T, int arity> __device__ void load_words(const rm_arrays &in, int64_t at, word_of<T> (&x)[arity]) {
  for (int k = 0; k < arity; k++) x[k] = reinterpret_cast<const word_of<T> *>(in.x[k])[at];
}

/* A thread takes words `jump` apart, at most RM_ROUNDS of them, and loads the next before it computes one, to hide the
 * latency of memory. A word with an undecided element is left as it is until the end: a call among the others would keep
 * their values in memory. Four blocks of a multiprocessor are resident, so that the whole loop, which few elements need, may
 * spill registers. */
#ifndef RM_CFG_WORD_BLOCKS
#define RM_CFG_WORD_BLOCKS 4096
#endif
enum { RM_ROUNDS = 32, RM_RESIDENT = 4 };
template <class T, int arity, rm_step *step, vf64 (*load)(const T *), void (*store)(T *, vf64), rm_map_fn *F>
__global__ void __launch_bounds__(RM_BLOCK, RM_RESIDENT) words_kernel(int64_t n, rm_arrays in, T *y) {
  const int64_t words = n / in_word<T>, jump = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  word_of<T> *const out = reinterpret_cast<word_of<T> *>(y);
  uint32_t left = 0; /* bit r: the word of round r */
  word_of<T> x[arity], next[arity];
  if (thread < words) load_words<T, arity>(in, thread, x);
  uint32_t round = 1;
  for (int64_t w = thread; w < words; w += jump, round *= 2) {
    if (w + jump < words) load_words<T, arity>(in, w + jump, next);
    word_of<T> results;
    bool undecided = false;
    RM_UNROLL for (int e = 0; e < in_word<T>; e++) {
      vf64 a[arity], v;
      for (int k = 0; k < arity; k++) a[k] = load(&x[k].v[e]);
      undecided |= !vm64_none(step(a, &v));
      store(&results.v[e], v);
    }
    if (undecided) left |= round;
    else out[w] = results;
    for (int k = 0; k < arity; k++) x[k] = next[k];
  }
  for (; left; left &= left - 1) {
    const int64_t w = thread + (__builtin_ffs(static_cast<int>(left)) - 1) * jump;
    load_words<T, arity>(in, w, x);
    for (int e = 0; e < in_word<T>; e++) {
      T one[arity];
      for (int k = 0; k < arity; k++) one[k] = x[k].v[e];
      y[w * in_word<T> + e] = by_whole_loop<T, arity, F>(one);
    }
  }
  const int64_t rest = words * in_word<T> + thread;
  if (rest < n) {
    T one[arity];
    for (int k = 0; k < arity; k++) one[k] = reinterpret_cast<const T *>(in.x[k])[rest];
    y[rest] = by_whole_loop<T, arity, F>(one);
  }
}

/* From how many 16-bit numbers on the results of all are computed first. */
#ifndef RM_CFG_TABLE_FROM
#define RM_CFG_TABLE_FROM (4 * RM_TABLE_NUMBERS)
#endif

/* The blocks for so many words: several rounds of each thread in large arrays. */
inline int64_t blocks_of_words(int64_t words) {
  const int64_t all = (words + RM_BLOCK - 1) / RM_BLOCK, fewest = (all + RM_ROUNDS - 1) / RM_ROUNDS;
  const int64_t blocks = all < RM_CFG_WORD_BLOCKS ? all : RM_CFG_WORD_BLOCKS;
  return fewest > blocks ? fewest : blocks > 0 ? blocks : 1;
}

template <class T, int arity, rm_step *step, vf64 (*load)(const T *), void (*store)(T *, vf64), rm_map_fn *F>
rm_status map(int64_t n, const void *const *x, const ptrdiff_t *sx, void *y, ptrdiff_t sy, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n == 0) return RM_OK;
  rm_arrays in;
  for (int k = 0; k < arity; k++) {
    if (!x[k]) return RM_STATUS(RM_ERR_NULL, 2 * k + 2);
    in.x[k] = static_cast<const char *>(x[k]);
    in.stride[k] = sx[k];
    in.aligned[k] = aligned<T>(x[k], sx[k]);
  }
  if (!y) return RM_STATUS(RM_ERR_NULL, 2 * arity + 2);
  for (int k = 0; k < arity; k++) /* a device computes elements in no fixed order */
    if (rm_steps_together(n, static_cast<const char *>(y), sy, in.x[k], sx[k], sizeof(T)) < n)
      return RM_STATUS(RM_ERR_OVERLAP, 2 * arity + 2);
  bool by_words = sy == sizeof(T) && aligned<word_of<T>>(y, 0);
  for (int k = 0; k < arity; k++) by_words = by_words && sx[k] == sizeof(T) && aligned<word_of<T>>(x[k], 0);
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  auto run_words = [s](int64_t count, const rm_arrays &from, T *to) {
    RM_LAUNCH((words_kernel<T, arity, step, load, store, F>), blocks_of_words(count / in_word<T>), RM_BLOCK, s, count, from,
              to);
  };
  if constexpr (sizeof(T) == 2 && arity == 1) {
    if (by_words && n >= RM_CFG_TABLE_FROM) {
      const workspace work(RM_TABLE_NUMBERS * sizeof(T), s);
      T *const table = static_cast<T *>(work.data);
      if (!table) return RM_ERR_DEVICE;
      rm_cuda_all_numbers(table, s);
      run_words(RM_TABLE_NUMBERS, {{static_cast<const char *>(work.data)}, {sizeof(T)}, {true}}, table);
      return rm_cuda_look_up(n, static_cast<const T *>(x[0]), table, static_cast<T *>(y), s);
    }
  }
  if (by_words) run_words(n, in, static_cast<T *>(y));
  else RM_LAUNCH((map_kernel<T, arity, F>), blocks_for(n), RM_BLOCK, s, n, in, static_cast<char *>(y), sy, aligned<T>(y, sy));
  return launched();
}

} // namespace

#define RM_CUDA_ARRAYS_1(type) const type *x, ptrdiff_t stride_x
#define RM_CUDA_ARRAYS_2(type) const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y
#define RM_CUDA_ARRAYS_3(type) \
  const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y, const type *z, ptrdiff_t stride_z
#define RM_CUDA_POINTERS_1 x
#define RM_CUDA_POINTERS_2 x, y
#define RM_CUDA_POINTERS_3 x, y, z
#define RM_CUDA_STRIDES_1 stride_x
#define RM_CUDA_STRIDES_2 stride_x, stride_y
#define RM_CUDA_STRIDES_3 stride_x, stride_y, stride_z

#define RM_LAUNCHER(name, arity, fmt, type, stored, load, store)                                                         \
  extern "C" rm_status rm_cuda_v##name##_##fmt(int64_t n, RM_CUDA_ARRAYS_##arity(type), type *out, ptrdiff_t stride_out, \
                                               rm_cuda_stream stream) {                                                  \
    const void *const in[] = {RM_CUDA_POINTERS_##arity};                                                                 \
    const ptrdiff_t strides[] = {RM_CUDA_STRIDES_##arity};                                                               \
    return map<stored, arity, rm_##name##_fast_##fmt, load, store, map_##name##_##fmt>(n, in, strides, out, stride_out,  \
                                                                                       stream);                          \
  }
#define RM_CUDA_FUNCTION(name, arity)                                                \
  namespace {                                                                        \
  RM_ACCURATE_FUNCTION(name, arity)                                                  \
  RM_MAP_ENTRIES(name, arity)                                                        \
  }                                                                                  \
  RM_LAUNCHER(name, arity, f16, rm_f16, uint16_t, vf64_load_f16, vf64_store_f16)     \
  RM_LAUNCHER(name, arity, bf16, rm_bf16, uint16_t, vf64_load_bf16, vf64_store_bf16) \
  RM_LAUNCHER(name, arity, f32, float, float, vf64_load_f32, vf64_store_f32)         \
  RM_LAUNCHER(name, arity, f64, double, double, vf64_load, vf64_store)
