/* Elementwise functions: one thread an element, over the loop body of the CPU's base build. */
#include "launch.h"

#include "../../crlibm/erf/erf.h"
#include "../../crlibm/exp/exp.h"
#include "../../crlibm/log/log.h"
#include "../../crlibm/tanh/tanh.h"
#include "../dispatch/kernels.h"
#include "../elementwise/map.h"

namespace {

/* F is the loop of one function and format, called for one element. Its flags have no place to go on a device. */
template <class T, rm_map_fn *F>
__global__ void map_kernel(int64_t n, const char *x, ptrdiff_t sx, char *y, ptrdiff_t sy, bool aligned_x, bool aligned_y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    T in = element<T>::load(x + i * sx, aligned_x), out;
    F(1, reinterpret_cast<const char *>(&in), sizeof in, reinterpret_cast<char *>(&out), sizeof out);
    element<T>::store(y + i * sy, out, aligned_y);
  }
}

template <class T, rm_map_fn *F>
rm_status map(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!y) return RM_STATUS(RM_ERR_NULL, 4);
  RM_LAUNCH((map_kernel<T, F>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(stream), n, static_cast<const char *>(x),
            sx, static_cast<char *>(y), sy, aligned<T>(x, sx), aligned<T>(y, sy));
  return launched();
}

#define RM_FUNCTION(name, NAME, hard, doc) RM_MAP_FUNCTION(name, NAME)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
} // namespace

#define RM_LAUNCHER(name, fmt, type, stored)                                                                                 \
  rm_status rm_cuda_v##name##_##fmt(int64_t n, const type *x, ptrdiff_t stride_x, type *y, ptrdiff_t stride_y,               \
                                    rm_cuda_stream stream) {                                                                 \
    return map<stored, map_##name##_##fmt>(n, x, stride_x, y, stride_y, stream);                                             \
  }
#define RM_FUNCTION(name, NAME, hard, doc)                                                                                   \
  RM_LAUNCHER(name, f16, rm_f16, uint16_t)                                                                                   \
  RM_LAUNCHER(name, bf16, rm_bf16, uint16_t)                                                                                 \
  RM_LAUNCHER(name, f32, float, float)                                                                                       \
  RM_LAUNCHER(name, f64, double, double)
extern "C" {
#include "../../crlibm/functions.def"
}
#undef RM_FUNCTION
