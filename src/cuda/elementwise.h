/* Elementwise functions: one thread an element, over the loop body of the CPU's base build. Included by one translation unit a
 * function (cmake/functions.cmake writes them), after crlibm/<f>/<f>.h and <f>_slow.h; RM_CUDA_FUNCTION then makes its launchers. */
#ifndef RM_CUDA_ELEMENTWISE_H
#define RM_CUDA_ELEMENTWISE_H

extern "C" { /* before the headers that include it too */
#include "../reduce/overlap.h"
}

#include "launch.h"

#include "../dispatch/kernels.h"
#include "../elementwise/map.h"

namespace {

/* The arrays of a call, as a kernel takes them. */
struct rm_arrays {
  const char *x[RM_MAX_ARITY];
  ptrdiff_t stride[RM_MAX_ARITY];
  bool aligned[RM_MAX_ARITY];
};

/* F is the loop of one function and format, called for one element. Its flags have no place to go on a device. */
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

template <class T, int arity, rm_map_fn *F>
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
  for (int k = 0; k < arity; k++) /* a device takes the steps in no order */
    if (rm_steps_together(n, static_cast<const char *>(y), sy, in.x[k], sx[k], sizeof(T)) < n)
      return RM_STATUS(RM_ERR_OVERLAP, 2 * arity + 2);
  RM_LAUNCH((map_kernel<T, arity, F>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(stream), n, in,
            static_cast<char *>(y), sy, aligned<T>(y, sy));
  return launched();
}

} // namespace

#define RM_CUDA_ARRAYS_1(type) const type *x, ptrdiff_t stride_x
#define RM_CUDA_ARRAYS_2(type) const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y
#define RM_CUDA_ARRAYS_3(type) const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y, const type *z, ptrdiff_t stride_z
#define RM_CUDA_POINTERS_1 x
#define RM_CUDA_POINTERS_2 x, y
#define RM_CUDA_POINTERS_3 x, y, z
#define RM_CUDA_STRIDES_1 stride_x
#define RM_CUDA_STRIDES_2 stride_x, stride_y
#define RM_CUDA_STRIDES_3 stride_x, stride_y, stride_z

#define RM_LAUNCHER(name, arity, fmt, type, stored)                                                                          \
  extern "C" rm_status rm_cuda_v##name##_##fmt(int64_t n, RM_CUDA_ARRAYS_##arity(type), type *out, ptrdiff_t stride_out,     \
                                               rm_cuda_stream stream) {                                                      \
    const void *const in[] = {RM_CUDA_POINTERS_##arity};                                                                     \
    const ptrdiff_t strides[] = {RM_CUDA_STRIDES_##arity};                                                                   \
    return map<stored, arity, map_##name##_##fmt>(n, in, strides, out, stride_out, stream);                                  \
  }
#define RM_CUDA_FUNCTION(name, arity)                                                                                        \
  namespace {                                                                                                                \
  RM_SLOW_FUNCTION(name, arity)                                                                                              \
  RM_MAP_ENTRIES(name, arity)                                                                                                \
  }                                                                                                                          \
  RM_LAUNCHER(name, arity, f16, rm_f16, uint16_t)                                                                            \
  RM_LAUNCHER(name, arity, bf16, rm_bf16, uint16_t)                                                                          \
  RM_LAUNCHER(name, arity, f32, float, float)                                                                                \
  RM_LAUNCHER(name, arity, f64, double, double)

#endif
