/* rm_cuda_integer_ratio and its relatives: the choice between products in binary64 and products of integers modulo small
 * numbers (matmul_crt.cu), whose bits are the same.
 *
 * Until it is measured or set, here or in the environment, the ratio is five times that of a device's rates in binary32 and
 * binary64, which it knows. NVIDIA's data sheets have 8 to 16 products of integers by matrix instructions for one of
 * binary32, and this library's kernels of integers reach less of that than its kernels of binary64. */
#include "integer_ratio.h"

#include "matmul.h"

#include "launch.h"

#include <atomic>
#include <cmath>
#include <cstdlib>

namespace {

enum { RM_RATED = 64 }; /* devices that have a ratio of their own; others have the estimate */
const double RM_INTEGERS_OF_B32 = 5.0;
std::atomic<double> ratios[RM_RATED]; /* 1 more than what was set or measured; 0: nothing was */

/* What the environment says, or the estimate. */
rm_status not_measured(int device, double *ratio) {
  int of_b32 = 0;
  if (const char *const named = getenv("REPMATH_CUDA_INTEGER_RATIO")) {
    char *end;
    *ratio = strtod(named, &end);
    return end != named && !*end && *ratio >= 0.0 ? RM_OK : RM_ERR_RANGE;
  }
  if (cudaDeviceGetAttribute(&of_b32, cudaDevAttrSingleToDoublePrecisionPerfRatio, device) != cudaSuccess) {
    (void)cudaGetLastError();
    of_b32 = 0;
  }
  *ratio = RM_INTEGERS_OF_B32 * of_b32;
  return RM_OK;
}

#ifndef RM_CFG_RATIO_SIZE
#define RM_CFG_RATIO_SIZE 2048 /* rows, columns and terms of the products that are measured: milliseconds */
#endif

/* Numbers without a pattern, from -1 to 1. */
__global__ void __launch_bounds__(RM_BLOCK) numbers_kernel(float *x, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * RM_BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * RM_BLOCK + threadIdx.x; i < n; i += step) {
    uint32_t w = static_cast<uint32_t>(i) * 2654435769u;
    w = (w ^ w >> 15) * 2246822519u;
    x[i] = static_cast<float>(static_cast<int32_t>(w ^ w >> 13)) * 0x1p-31f;
  }
}

/* Events around work of a stream. */
struct stopwatch {
  cudaEvent_t first = nullptr, last = nullptr;
  rm_status status;
  stopwatch() : status(rm_cuda_status(cudaEventCreate(&first))) {
    if (status == RM_OK) status = rm_cuda_status(cudaEventCreate(&last));
  }
  ~stopwatch() {
    if (first) (void)cudaEventDestroy(first);
    if (last) (void)cudaEventDestroy(last);
  }
  stopwatch(const stopwatch &) = delete;
  stopwatch &operator=(const stopwatch &) = delete;
  template <class F> rm_status time(cudaStream_t s, F f, float *ms) {
    if (status == RM_OK) status = rm_cuda_status(cudaEventRecord(first, s));
    if (status == RM_OK) status = f();
    if (status == RM_OK) status = rm_cuda_status(cudaEventRecord(last, s));
    if (status == RM_OK) status = rm_cuda_status(cudaEventSynchronize(last));
    if (status == RM_OK) status = rm_cuda_status(cudaEventElapsedTime(ms, first, last));
    return status;
  }
};

/* Times a product in binary64 and one of integers: the ratio at which they would take the same time is the cost that
 * rm_cuda_integer_cost has for this size, and it is as much larger as the former takes longer. */
rm_status measure(double *ratio, cudaStream_t s) {
  const int64_t n = RM_CFG_RATIO_SIZE;
  const workspace work(static_cast<size_t>(3 * n * n) * sizeof(float), s);
  float *const x = static_cast<float *>(work.data), ms[2] = {0, 0};
  if (!x) return RM_ERR_DEVICE;
  RM_LAUNCH(numbers_kernel, blocks_for(2 * n * n), RM_BLOCK, s, x, 2 * n * n);
  const rm_view a = {reinterpret_cast<char *>(x), 4 * n, 4}, b = {a.base + 4 * n * n, 4 * n, 4};
  const rm_view c = {b.base + 4 * n * n, 4 * n, 4}, none = {nullptr, 0, 0};
  rm_matmul_problem p = rm_problem_of(RM_FORMAT_F32, RM_NO_BATCH);
  rm_status status = rm_check_strided(&p, n, n, n, a, b, none, c);
  if (status) return status;
  stopwatch watch;
  if (watch.status) return watch.status;
  for (int of_integers = 0; of_integers < 2; of_integers++)
    for (int again = 0; again < 2 && status == RM_OK; again++) /* the first one loads code */
      status = watch.time(s, [&] { return rm_cuda_matmul_b64(&p, of_integers ? INFINITY : 0.0, s); }, &ms[of_integers]);
  if (status) return status;
  *ratio = ms[1] > 0.0f ? static_cast<double>(ms[0] / ms[1]) * rm_cuda_integer_cost(RM_FORMAT_F32, n, n, n) : 0.0;
  return RM_OK;
}

} // namespace

extern "C" {

rm_status rm_cuda_integer_ratio(double *ratio) {
  if (!ratio) return RM_STATUS(RM_ERR_NULL, 1);
  int device = 0;
  const rm_status status = rm_cuda_status(cudaGetDevice(&device));
  if (status) return status;
  const double set = device < RM_RATED ? ratios[device].load() : 0.0;
  if (!(set > 0.0)) return not_measured(device, ratio);
  *ratio = set - 1.0;
  return RM_OK;
}

rm_status rm_cuda_set_integer_ratio(double ratio) {
  if (std::isnan(ratio)) return RM_STATUS(RM_ERR_RANGE, 1);
  int device = 0;
  const rm_status status = rm_cuda_status(cudaGetDevice(&device));
  if (status) return status;
  if (device >= RM_RATED) return RM_STATUS(RM_ERR_STATE, 0);
  ratios[device].store(ratio < 0.0 ? 0.0 : ratio + 1.0);
  return RM_OK;
}

rm_status rm_cuda_measure_integer_ratio(double *ratio, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  double found = 0.0;
  rm_status status = RM_OK;
  cudaStreamCaptureStatus capture;
  if (!rm_cuda_measures()) {
    status = rm_cuda_status(cudaStreamIsCapturing(s, &capture));
    if (status == RM_OK && capture != cudaStreamCaptureStatusNone) status = rm_cuda_status(cudaErrorStreamCaptureUnsupported);
  }
  if (status == RM_OK) status = measure(&found, s);
  if (status || rm_cuda_measures()) return status;
  status = rm_cuda_set_integer_ratio(found);
  if (status == RM_OK && ratio) *ratio = found;
  return status;
}
}
