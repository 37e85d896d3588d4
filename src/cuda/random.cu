/* Words and integers of the generator: one thread an element, over the bodies of the CPU's loops. */
#include "launch.h"

#include "../random/integers.h"

namespace {

enum kind { WORDS32, WORDS64, INTEGERS };

template <class T, kind K> __global__ void random_kernel(rm_random_job job, int64_t n, bool aligned_out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x, per_block = K == WORDS32 ? 4 : 2;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t at = job.first + i;
    uint64_t draws[2];
    rm_philox_block(job.seed, job.stream, static_cast<uint64_t>(at / per_block), draws);
    T y;
    if (K == WORDS32)
      y = static_cast<T>(draws[at % 4 / 2] >> 32 * (at % 2));
    else if (K == WORDS64)
      y = static_cast<T>(draws[at % 2]);
    else
      y = static_cast<T>(static_cast<uint64_t>(job.integers.low) + rm_integer(&job, i, draws[at % 2]));
    element<T>::store(job.out + i * job.stride, y, aligned_out);
  }
}

/* The arguments as the CPU checks them (api/random.c); at_out is the position of out. */
rm_status check(const rm_random_job &job, int64_t n, ptrdiff_t size, int at_out) {
  if (job.first < 0) return RM_STATUS(RM_ERR_RANGE, 3);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 4);
  if (n > INT64_MAX - job.first) return RM_STATUS(RM_ERR_RANGE, 4);
  if (n > 0 && !job.out) return RM_STATUS(RM_ERR_NULL, at_out);
  if (n > 1 && job.stride > -size && job.stride < size) return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return RM_OK;
}

template <class T, kind K> rm_status launch(const rm_random_job &job, int64_t n, int at_out, rm_cuda_stream queue) {
  const rm_status status = check(job, n, sizeof(T), at_out);
  if (status || n == 0) return status;
  RM_LAUNCH((random_kernel<T, K>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(queue), job, n,
            aligned<T>(job.out, job.stride));
  return launched();
}

rm_random_job job_of(uint64_t seed, uint64_t stream, int64_t first, void *out, ptrdiff_t stride) {
  rm_random_job job = {};
  job.seed = seed, job.stream = stream, job.first = first;
  job.out = static_cast<char *>(out), job.stride = stride;
  return job;
}

} // namespace

extern "C" rm_status rm_cuda_random_words32(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out,
                                            ptrdiff_t stride_out, rm_cuda_stream queue) {
  return launch<uint32_t, WORDS32>(job_of(seed, stream, first, out, stride_out), n, 5, queue);
}

extern "C" rm_status rm_cuda_random_words64(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint64_t *out,
                                            ptrdiff_t stride_out, rm_cuda_stream queue) {
  return launch<uint64_t, WORDS64>(job_of(seed, stream, first, out, stride_out), n, 5, queue);
}

extern "C" rm_status rm_cuda_random_integers(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low,
                                             int64_t last, int64_t *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_job job = job_of(seed, stream, first, out, stride_out);
  job.integers.low = low, job.integers.count = static_cast<uint64_t>(last) - static_cast<uint64_t>(low) + 1;
  const rm_status status = check(job, n, 8, 7);
  if (status) return status;
  if (last < low) return RM_STATUS(RM_ERR_RANGE, 6);
  return launch<int64_t, INTEGERS>(job, n, 7, queue);
}
