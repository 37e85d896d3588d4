/* Sums and dot products: every thread feeds a superaccumulator of its own, and merging is exact in any order. */
#include "launch.h"

#include "engine.h"

namespace {

enum {
  RM_PARTS_BLOCK = 64,
  RM_PARTS_MAX = 128
}; /* threads of a block; blocks, and so accumulators that the last block merges */

/* Where a reduction reads: y is NULL for a sum. */
template <class T> struct terms {
  int64_t n;
  const char *x, *y;
  ptrdiff_t sx, sy;
};

/* Every `step`-th term from `first` on. */
__device__ void feed(rm_superaccumulator *acc, const terms<float> &t, int64_t first, int64_t step) {
  int64_t n = first < t.n ? (t.n - first + step - 1) / step : 0;
  if (t.y)
    rm_superacc_add_products(acc, RM_F32, n, t.x + first * t.sx, step * t.sx, t.y + first * t.sy, step * t.sy);
  else
    rm_superacc_add_array(acc, RM_F32, n, t.x + first * t.sx, step * t.sx);
}
__device__ void feed(rm_superaccumulator *acc, const terms<double> &t, int64_t first, int64_t step) {
  int64_t n = first < t.n ? (t.n - first + step - 1) / step : 0;
  if (t.y)
    rm_superacc_add_products(acc, RM_F64, n, t.x + first * t.sx, step * t.sx, t.y + first * t.sy, step * t.sy);
  else
    rm_superacc_add_array(acc, RM_F64, n, t.x + first * t.sx, step * t.sx);
}

__device__ void round_to(const rm_superaccumulator *acc, char *out, float) {
  uint32_t flags = 0; /* a device has nowhere to raise them */
  rm_write_bits(out, rm_superacc_round(acc, RM_F32, RM_NEAREST, &flags), RM_F32);
}
__device__ void round_to(const rm_superaccumulator *acc, char *out, double) {
  uint32_t flags = 0;
  rm_write_bits(out, rm_superacc_round(acc, RM_F64, RM_NEAREST, &flags), RM_F64);
}

/* `count` accumulators, `apart` from each other, become one, in the first, by all threads of a block. */
__device__ void merge_block(rm_superaccumulator *part, int count, int apart) {
  for (int half = 1; half < count; half *= 2) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x) * 2 * half; i + half < count; i += static_cast<int>(blockDim.x) * 2 * half)
      rm_superacc_merge(part + i * apart, part + (i + half) * apart, 0);
  }
}

template <class T> __global__ void accumulate_kernel(terms<T> t, rm_superaccumulator *parts) {
  rm_superaccumulator *mine = parts + static_cast<int64_t>(blockIdx.x) * blockDim.x;
  rm_superacc_clear(mine + threadIdx.x);
  feed(mine + threadIdx.x, t, static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
       static_cast<int64_t>(gridDim.x) * blockDim.x);
  merge_block(mine, RM_PARTS_BLOCK, 1);
}

/* One block merges the results of all and rounds. */
template <class T> __global__ void finish_kernel(rm_superaccumulator *parts, int blocks, char *out) {
  merge_block(parts, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  if (threadIdx.x == 0) round_to(parts, out, T());
}

template <class T> rm_status reduce(const terms<T> &t, void *out, rm_cuda_stream stream) {
  int64_t blocks = (t.n + 16 * RM_PARTS_BLOCK - 1) / (16 * RM_PARTS_BLOCK); /* 16 terms are worth an accumulator */
  if (blocks < 1) blocks = 1;
  if (blocks > RM_PARTS_MAX) blocks = RM_PARTS_MAX;
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  workspace work(static_cast<size_t>(blocks) * RM_PARTS_BLOCK * sizeof(rm_superaccumulator), s);
  if (!work.data) return RM_ERR_DEVICE;
  rm_superaccumulator *parts = static_cast<rm_superaccumulator *>(work.data);
  RM_LAUNCH(accumulate_kernel<T>, blocks, RM_PARTS_BLOCK, s, t, parts);
  RM_LAUNCH(finish_kernel<T>, 1, RM_PARTS_MAX, s, parts, static_cast<int>(blocks), static_cast<char *>(out));
  return launched();
}

template <class T> rm_status sum(int64_t n, const T *x, ptrdiff_t sx, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!out) return RM_STATUS(RM_ERR_NULL, 4);
  return reduce(terms<T>{n, reinterpret_cast<const char *>(x), nullptr, sx, 0}, out, stream);
}

template <class T>
rm_status dot(int64_t n, const T *x, ptrdiff_t sx, const T *y, ptrdiff_t sy, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 4);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  return reduce(terms<T>{n, reinterpret_cast<const char *>(x), reinterpret_cast<const char *>(y), sx, sy}, out, stream);
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
