/* Sums and dot products of vectors, by superaccumulators (accumulate.h). */
#include "accumulate.h"

namespace {

__global__ void round_kernel(rm_superaccumulator *parts, int blocks, char *out, int fmt) {
  merge_block(parts, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  uint32_t flags = 0; /* a device has nowhere to raise them */
  if (threadIdx.x == 0) rm_write_bits(out, rm_superacc_round(parts, fmt, RM_NEAREST, &flags), fmt);
}

rm_status reduce(const terms &t, void *out, rm_cuda_stream stream) {
  partial_sums sums(t, static_cast<cudaStream_t>(stream));
  if (!sums.parts) return RM_ERR_DEVICE;
  RM_LAUNCH(round_kernel, 1, RM_PARTS_MAX, sums.work.stream, sums.parts, sums.blocks, static_cast<char *>(out), t.fmt);
  return launched();
}

template <class T> constexpr int format_of = sizeof(T) == 4 ? RM_F32 : RM_F64;

template <class T> rm_status sum(int64_t n, const T *x, ptrdiff_t sx, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!out) return RM_STATUS(RM_ERR_NULL, 4);
  return reduce(terms{format_of<T>, n, reinterpret_cast<const char *>(x), nullptr, sx, 0}, out, stream);
}

template <class T>
rm_status dot(int64_t n, const T *x, ptrdiff_t sx, const T *y, ptrdiff_t sy, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 4);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  return reduce(terms{format_of<T>, n, reinterpret_cast<const char *>(x), reinterpret_cast<const char *>(y), sx, sy}, out,
                stream);
}

} // namespace

extern "C" {

int rm_cuda_devices(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

rm_status rm_cuda_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out, rm_cuda_stream stream) {
  return sum(n, x, stride_x, out, stream);
}
rm_status rm_cuda_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out, rm_cuda_stream stream) {
  return sum(n, x, stride_x, out, stream);
}
rm_status rm_cuda_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out,
                          rm_cuda_stream stream) {
  return dot(n, x, stride_x, y, stride_y, out, stream);
}
rm_status rm_cuda_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out,
                          rm_cuda_stream stream) {
  return dot(n, x, stride_x, y, stride_y, out, stream);
}
}
