/* Elementwise functions. In contiguous arrays a thread takes a word of several elements, so that accesses are wide and
 * coalesced, and runs the fast phase of the CPU's base build (crlibm/simd/fast_phase.h) on each; in other arrays it takes one
 * element through that build's whole loop. Each function has a translation unit (cmake/functions.cmake writes them), which
 * includes crlibm/<f>/<f>.h, <f>_accurate.h and this file, and makes its launchers by RM_CUDA_FUNCTION. */
#pragma once

extern "C" { /* before the headers that include it too */
#include "../common/overlap.h"
}

#include "launch.h"

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
  const ptrdiff_t sizes[RM_MAX_ARITY] = {sizeof(T), sizeof(T), sizeof(T)};
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    T x[arity], out;
    const char *px[arity];
    for (int k = 0; k < arity; k++) {
      x[k] = element<T>::load(in.x[k] + i * in.stride[k], in.aligned[k]);
      px[k] = reinterpret_cast<const char *>(&x[k]);
    }
    F(1, px, sizes, reinterpret_cast<char *>(&out), sizeof out);
    element<T>::store(y + i * sy, out, aligned_y);
  }
}

/* How many elements of T a word of 8 or 16 bytes holds. */
template <class T> constexpr int in_word = sizeof(T) == 8 ? 2 : 4;
template <class T> struct alignas(in_word<T> * sizeof(T)) word_of {
  T v[in_word<T>];
};

/* One element by the whole loop of its function, for elements that the fast phase leaves undecided and for the last few,
 * which do not fill a word. */
template <class T, int arity, rm_map_fn *F> RM_COLD __device__ T by_whole_loop(const T (&x)[arity]) {
  const ptrdiff_t sizes[RM_MAX_ARITY] = {sizeof(T), sizeof(T), sizeof(T)};
  const char *px[arity];
  T out;
  for (int k = 0; k < arity; k++) px[k] = reinterpret_cast<const char *>(&x[k]);
  F(1, px, sizes, reinterpret_cast<char *>(&out), sizeof out);
  return out;
}

template <class T, int arity, rm_step *step, vf64 (*load)(const T *), void (*store)(T *, vf64), rm_map_fn *F>
__global__ void __launch_bounds__(RM_BLOCK) words_kernel(int64_t n, rm_arrays in, T *y) {
  const int64_t words = n / in_word<T>, jump = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t w = thread; w < words; w += jump) {
    word_of<T> x[arity], out;
    unsigned undecided = 0;
    for (int k = 0; k < arity; k++) x[k] = reinterpret_cast<const word_of<T> *>(in.x[k])[w];
    RM_UNROLL for (int e = 0; e < in_word<T>; e++) {
      vf64 a[arity], v;
      for (int k = 0; k < arity; k++) a[k] = load(&x[k].v[e]);
      undecided |= static_cast<unsigned>(!vm64_none(step(a, &v))) << e;
      store(&out.v[e], v);
    }
    if (RM_UNLIKELY(undecided)) {
      RM_UNROLL for (int e = 0; e < in_word<T>; e++) {
        if (!(undecided >> e & 1u)) continue;
        T one[arity];
        for (int k = 0; k < arity; k++) one[k] = x[k].v[e];
        out.v[e] = by_whole_loop<T, arity, F>(one);
      }
    }
    reinterpret_cast<word_of<T> *>(y)[w] = out;
  }
  const int64_t rest = words * in_word<T> + thread;
  if (rest < n) {
    T one[arity];
    for (int k = 0; k < arity; k++) one[k] = reinterpret_cast<const T *>(in.x[k])[rest];
    y[rest] = by_whole_loop<T, arity, F>(one);
  }
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
  if (by_words) {
    RM_LAUNCH((words_kernel<T, arity, step, load, store, F>), blocks_for((n + in_word<T> - 1) / in_word<T>), RM_BLOCK,
              static_cast<cudaStream_t>(stream), n, in, static_cast<T *>(y));
    return launched();
  }
  RM_LAUNCH((map_kernel<T, arity, F>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(stream), n, in,
            static_cast<char *>(y), sy, aligned<T>(y, sy));
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
