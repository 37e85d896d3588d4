/* The last phase of matrix products: a block of threads sums the products of each element that is still undecided in
 * superaccumulators, one a thread, which lie in the workspace, merges them, and rounds the total as the CPU does
 * (blas/gemm/exact.inl). */
#pragma once

#include "accumulate.h"
#include "tiles.h"

namespace {

enum {
  RM_EXACT_THREADS = RM_PARTS_BLOCK,
  RM_EXACT_BLOCKS = 256,
  RM_EXACT_STACK = 2048 /* bytes of a block's first thread for digits of alpha S + beta d */
};

/* NULL for padding. */
__device__ inline const char *element_at(const rm_operand *o, int64_t row, int64_t k) {
  const char *at = o->base + row * o->row_stride + k * o->k_stride;
  if (o->im2col) rm_im2col_row(o->im2col, o->base, row, k, 1, &at);
  return at;
}

/* Adds this thread's products of an element. */
__device__ inline void feed_exact(rm_superaccumulator *acc, const rm_matmul_problem &p, int64_t r, int64_t c) {
  const int64_t first = threadIdx.x, step = RM_EXACT_THREADS;
  if (p.a.im2col || p.b.im2col) {
    for (int64_t k = first; k < p.k; k += step) { /* padding adds no product: it must not meet an infinity */
      const char *const x = element_at(&p.a, r, k), *const y = element_at(&p.b, c, k);
      if (x && y) rm_superacc_add_products(acc, p.fmt, 1, x, 0, y, 0);
    }
  } else if (first < p.k) {
    rm_superacc_add_products(acc, p.fmt, (p.k - first + step - 1) / step, element_at(&p.a, r, first), step * p.a.k_stride,
                             element_at(&p.b, c, first), step * p.b.k_stride);
  }
}

/* Lists the elements of the bitmap. */
__global__ void list_kernel(rm_undecided_set undecided) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t w = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < undecided.words(); w += step)
    if (undecided.map()[w]) undecided.list_bits(w, undecided.map()[w]);
}

__global__ void __launch_bounds__(RM_EXACT_THREADS)
    exact_kernel(const __grid_constant__ device_problem d, rm_undecided_set undecided, rm_superaccumulator *parts,
                 char *stacks) {
  const int t = static_cast<int>(threadIdx.x);
  const int64_t product = d.p.m * d.p.n;
  rm_superaccumulator *const mine = parts + static_cast<int64_t>(blockIdx.x) * RM_EXACT_THREADS;
  if (t == 0) rm_big_begin(stacks + static_cast<int64_t>(blockIdx.x) * RM_EXACT_STACK, RM_EXACT_STACK);
  each_undecided_of_block(undecided, [&](int64_t at) {
    const int64_t r = at % product / d.p.n, c = at % d.p.n;
    const rm_matmul_problem p = problem_of(d, at / product);
    rm_superacc_clear(mine + t);
    feed_exact(mine + t, p, r, c);
    merge_block(mine, RM_EXACT_THREADS, 1);
    if (t == 0) {
      uint32_t flags = 0; /* a device has nowhere to raise them */
      char *const to = address_in_c(p, r, c);
      rm_write_bits(to,
                    p.alpha_beta ? rm_exact_round_alpha_beta(&p, mine, rm_read_bits(to, p.out_fmt), &flags)
                                 : rm_exact_round(&p, r, c, mine, &flags),
                    p.out_fmt);
    }
    __syncthreads(); /* thread 0 has read the first accumulator */
  });
}

/* Computes the elements that are listed. RM_ERR_DEVICE: there is no memory for the accumulators. */
inline rm_status run_exact(const device_problem &d, const rm_undecided_set &undecided, cudaStream_t s) {
  const int64_t most = (undecided.n + 2047) / 2048, blocks = most < RM_EXACT_BLOCKS ? most : RM_EXACT_BLOCKS;
  const size_t stacks = static_cast<size_t>(blocks) * RM_EXACT_STACK;
  const workspace work(stacks + static_cast<size_t>(blocks) * RM_EXACT_THREADS * sizeof(rm_superaccumulator), s);
  char *const at = static_cast<char *>(work.data);
  if (!at) return RM_ERR_DEVICE;
  rm_cuda_count_listed(&undecided.counts->count, 0, s);
  RM_LAUNCH(exact_kernel, blocks, RM_EXACT_THREADS, s, d, undecided, reinterpret_cast<rm_superaccumulator *>(at + stacks),
            at);
  return RM_OK;
}

} // namespace
