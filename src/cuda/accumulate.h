/* Exact sums: every thread feeds its own superaccumulator, and merging is exact in any order. */
#ifndef RM_CUDA_ACCUMULATE_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_ACCUMULATE_H

#include "launch.h"

#include "exact_sums.h"

namespace {

enum {
  RM_PARTS_BLOCK = 64,
  RM_PARTS_MAX = 128
}; /* threads of a block; blocks, and so accumulators that the last block merges */

/* The terms of a reduction: x, or the products x y where y is not NULL. */
struct terms {
  int fmt;
  int64_t n;
  const char *x, *y;
  ptrdiff_t sx, sy;
};

/* Adds every `step`-th term from `first` on. A reduction of other terms overloads it for a type of its own, which has n. */
__device__ void feed(rm_superaccumulator *acc, const terms &t, int64_t first, int64_t step) {
  int64_t n = first < t.n ? (t.n - first + step - 1) / step : 0;
  if (t.y) rm_superacc_add_products(acc, t.fmt, n, t.x + first * t.sx, step * t.sx, t.y + first * t.sy, step * t.sy);
  else rm_superacc_add_array(acc, t.fmt, n, t.x + first * t.sx, step * t.sx);
}

/* All threads of a block merge `count` accumulators, `apart` from each other, into the first. */
__device__ void merge_block(rm_superaccumulator *part, int count, int apart) {
  for (int half = 1; half < count; half *= 2) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x) * 2 * half; i + half < count; i += static_cast<int>(blockDim.x) * 2 * half)
      rm_superacc_merge(part + i * apart, part + (i + half) * apart, 0);
  }
}

template <class Terms> __global__ void accumulate_kernel(Terms t, rm_superaccumulator *parts) {
  rm_superaccumulator *mine = parts + static_cast<int64_t>(blockIdx.x) * blockDim.x;
  rm_superacc_clear(mine + threadIdx.x);
  feed(mine + threadIdx.x, t, static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
       static_cast<int64_t>(gridDim.x) * blockDim.x);
  merge_block(mine, RM_PARTS_BLOCK, 1);
}

/* The sums of `blocks` blocks, RM_PARTS_BLOCK apart in `parts`, which is NULL where there is no memory. */
struct partial_sums {
  int blocks;
  workspace work;
  rm_superaccumulator *parts;
  static int blocks_of(int64_t n) {
    int64_t blocks = (n + 16 * RM_PARTS_BLOCK - 1) / (16 * RM_PARTS_BLOCK); /* 16 terms are worth an accumulator */
    return blocks < 1 ? 1 : blocks > RM_PARTS_MAX ? RM_PARTS_MAX : static_cast<int>(blocks);
  }
  template <class Terms>
  partial_sums(const Terms &t, cudaStream_t stream)
      : blocks(blocks_of(t.n)), work(static_cast<size_t>(blocks) * RM_PARTS_BLOCK * sizeof(rm_superaccumulator), stream),
        parts(static_cast<rm_superaccumulator *>(work.data)) {
    if (parts) RM_LAUNCH((accumulate_kernel<Terms>), blocks, RM_PARTS_BLOCK, stream, t, parts);
  }
};

} // namespace

#endif
