/* Launches random numbers: one thread for each element runs the body of the CPU's loop. */
#pragma once

#include "launch.h"

extern "C" {
#include "../random/args.h" /* compiled for the host, as C */
}

#include "../random/chunks.h"

namespace {

/* The maker of one format, `apart` as a function of its own: inlining long makers would take minutes to compile. */
template <rm_chunk_fn *make, int fmt>
RM_LONG uint32_t make_apart(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out) {
  return make(problem, from, n, random, out, fmt);
}

/* An element takes `width` bytes of randomness, 4 or 8. `make` sees one element, and that of a dropout's input in place of
 * the array; one that is apart sees the problem as it is, of which a thread then has no copy. */
template <class T, int width, rm_chunk_fn *make, int fmt, bool apart>
__global__ void random_kernel(const __grid_constant__ rm_random_problem problem, int64_t n, bool aligned_out,
                              bool aligned_x) {
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
    const char *const given = reinterpret_cast<const char *>(random);
    char *const out = reinterpret_cast<char *>(&y);
    if (apart) make_apart<make, fmt>(&problem, 0, 1, given, out);
    else make(&one, 0, 1, given, out, fmt);
    element<T>::store(problem.out + i * problem.stride, y, aligned_out);
  }
}

template <class T, int width, rm_chunk_fn *make, int fmt, bool apart = false>
rm_status draw(const rm_random_problem &problem, int64_t n, rm_cuda_stream queue) {
  if (n == 0) return RM_OK;
  RM_LAUNCH((random_kernel<T, width, make, fmt, apart>), blocks_for(n), RM_BLOCK, static_cast<cudaStream_t>(queue), problem,
            n, aligned<T>(problem.out, problem.stride), aligned<T>(problem.x, problem.stride_x));
  return launched();
}

/* Results in any format; an element below binary64 takes `width` bytes of randomness. */
template <int width, rm_chunk_fn *make, bool apart = false>
rm_status draw_in(int format, const rm_random_problem &problem, int64_t n, rm_cuda_stream queue) {
  switch (format) {
    case RM_F16: return draw<uint16_t, width, make, RM_F16, apart>(problem, n, queue);
    case RM_BF16: return draw<uint16_t, width, make, RM_BF16, apart>(problem, n, queue);
    case RM_F32: return draw<float, width, make, RM_F32, apart>(problem, n, queue);
    default: return draw<double, 8, make, RM_F64, apart>(problem, n, queue);
  }
}

} // namespace
