/* Launches random numbers: one thread for each element runs the body of the CPU's loop. */
#pragma once

#include "launch.h"

extern "C" {
#include "../random/args.h" /* compiled for the host, as C */
}

#include "../random/chunks.h"

namespace {

/* width: bytes of randomness an element, 4 or 8. `make` sees one element, and that of a dropout's input in place of the
 * array. */
template <class T, int width, rm_chunk_fn *make>
__global__ void random_kernel(rm_random_problem problem, int64_t n, bool aligned_out, bool aligned_x) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x, per_block = 16 / width;
  rm_random_problem one = problem;
  T x = 0, y;
  one.x = reinterpret_cast<const char *>(&x), one.stride_x = sizeof x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t at = problem.first + i;
    uint64_t draws[2], random[2] = {0, 0}; /* the second may be read */
    rm_philox_block(problem.seed, problem.stream, static_cast<uint64_t>(at / per_block), draws);
    random[0] = width == 4 ? draws[at % 4 / 2] >> 32 * (at % 2) : draws[at % 2];
    if (problem.x) x = element<T>::load(problem.x + i * problem.stride_x, aligned_x);
    one.first = at;
    make(&one, 0, 1, reinterpret_cast<const char *>(random), reinterpret_cast<char *>(&y));
    element<T>::store(problem.out + i * problem.stride, y, aligned_out);
  }
}

template <class T, int width, rm_chunk_fn *make>
rm_status draw(const rm_random_problem &problem, int64_t n, rm_cuda_stream queue) {
  if (n == 0) return RM_OK;
  RM_LAUNCH((random_kernel<T, width, make>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(queue), problem, n,
            aligned<T>(problem.out, problem.stride), aligned<T>(problem.x, problem.stride_x));
  return launched();
}

} // namespace

/* Returns from a launcher by the maker make_<name>_<fmt>; an element below binary64 takes `width` bytes of randomness. */
#define RM_DRAW_FORMAT(name, width)                                                    \
  switch (format) {                                                                    \
    case RM_F16: return draw<uint16_t, width, make_##name##_f16>(problem, n, queue);   \
    case RM_BF16: return draw<uint16_t, width, make_##name##_bf16>(problem, n, queue); \
    case RM_F32: return draw<float, width, make_##name##_f32>(problem, n, queue);      \
    default: return draw<double, 8, make_##name##_f64>(problem, n, queue);             \
  }
