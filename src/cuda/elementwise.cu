/* Elementwise functions: one thread an element, over the loop body of the CPU's base build. */
#include "launch.h"

#include "../../crlibm/erf/erf.h"
#include "../../crlibm/exp/exp.h"
#include "../../crlibm/log/log.h"
#include "../../crlibm/tanh/tanh.h"
#include "../dispatch/kernels.h"
#include "../elementwise/map.h"

namespace {

template <class T> struct element {
  /* Any address: by bytes unless the array is aligned, since a device faults on a misaligned word. */
  static __device__ T load(const char *p, bool aligned) {
    T v;
    if (aligned) return *reinterpret_cast<const T *>(p);
    unsigned char b[sizeof(T)];
    for (unsigned k = 0; k < sizeof(T); k++) b[k] = static_cast<unsigned char>(p[k]);
    __builtin_memcpy(&v, b, sizeof v);
    return v;
  }
  static __device__ void store(char *p, T v, bool aligned) {
    if (aligned) {
      *reinterpret_cast<T *>(p) = v;
      return;
    }
    unsigned char b[sizeof(T)];
    __builtin_memcpy(b, &v, sizeof v);
    for (unsigned k = 0; k < sizeof(T); k++) p[k] = static_cast<char>(b[k]);
  }
};

template <class T> bool aligned(const void *p, ptrdiff_t stride) {
  return (reinterpret_cast<uintptr_t>(p) | static_cast<uintptr_t>(stride)) % sizeof(T) == 0;
}

/* A functor names a kernel of crlibm in one format. */
template <class T, class F>
__global__ void map_kernel(int64_t n, const char *x, ptrdiff_t sx, char *y, ptrdiff_t sy, bool aligned_x, bool aligned_y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    T in = element<T>::load(x + i * sx, aligned_x), out;
    F::apply(&in, &out);
    element<T>::store(y + i * sy, out, aligned_y);
  }
}

template <class T, class F>
rm_status map(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!y) return RM_STATUS(RM_ERR_NULL, 4);
  RM_LAUNCH((map_kernel<T, F>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(stream), n, static_cast<const char *>(x), sx,
            static_cast<char *>(y), sy, aligned<T>(x, sx), aligned<T>(y, sy));
  return launched();
}

} // namespace

/* The flags that a CPU call would raise have no place to go on a device. */
#undef RM_MAP_ENTRY
#define RM_MAP_ENTRY(name, fmt)                                                                      \
  struct name##_##fmt {                                                                              \
    template <class T> static __device__ void apply(const T *x, T *y) {                              \
      map_contiguous_##fmt(step_##name##_##fmt, RM_FN_##name, 1, x, y);                              \
    }                                                                                                \
  };
namespace {
#define RM_FUNCTION(name, NAME, hard, doc) RM_MAP_FUNCTION(name, NAME)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
} // namespace

#define RM_LAUNCHER(name, fmt, type, stored)                                                                             \
  rm_status rm_cuda_v##name##_##fmt(int64_t n, const type *x, ptrdiff_t stride_x, type *y, ptrdiff_t stride_y,           \
                                    rm_cuda_stream stream) {                                                             \
    return map<stored, name##_##fmt>(n, x, stride_x, y, stride_y, stream);                                               \
  }
#define RM_FUNCTION(name, NAME, hard, doc)      \
  RM_LAUNCHER(name, f16, rm_f16, uint16_t)      \
  RM_LAUNCHER(name, bf16, rm_bf16, uint16_t)    \
  RM_LAUNCHER(name, f32, float, float)          \
  RM_LAUNCHER(name, f64, double, double)
extern "C" {
#include "../../crlibm/functions.def"
}
#undef RM_FUNCTION
