/* Regression losses and negative log likelihood: the accurate phase of undecided elements, and quotients of sums. */
#include "losses.h"

#include "elements_accurate.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/element.h"
#include "../nn/cross_entropy/nll_row.h"

enum { RM_PAIR_STACK = 64 << 10 };

namespace {

__global__ void pair_total_kernel(rm_pair_loss f, rm_superaccumulator *parts, int blocks, char *stack) {
  merge_block(parts, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  if (threadIdx.x != 0) return;
  big_begin(stack, RM_PAIR_STACK);
  rm_row_state state = {};
  const uint64_t bits = f.n ? rm_pair_total(&f, parts, &state) : f.reduction == RM_REDUCTION_MEAN ? rm_nan_bits(f.format) : 0;
  rm_write_bits(f.out.base, bits, f.format);
}

__global__ void nll_total_kernel(rm_nll f, rm_superaccumulator *sums, rm_superaccumulator *weights, int blocks, char *stack) {
  merge_block(sums, blocks, RM_PARTS_BLOCK);
  merge_block(weights, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  if (threadIdx.x != 0) return;
  big_begin(stack, RM_PAIR_STACK);
  rm_row_state state = {};
  rm_write_bits(f.out.base, *f.wrong ? rm_nan_bits(f.format) : rm_nll_total(&f, sums, weights, &state), f.format);
}

} // namespace

rm_status rm_pair_accurate(const rm_pair_loss &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_pair_loss, rm_pair_result>(f, RM_PAIR_STACK, undecided, stream);
}

rm_status rm_pair_reduce(const rm_pair_loss &f, rm_superaccumulator *parts, int blocks, cudaStream_t stream) {
  const workspace stack(RM_PAIR_STACK, stream);
  if (!stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH(pair_total_kernel, 1, RM_PARTS_MAX, stream, f, parts, blocks, static_cast<char *>(stack.data));
  return launched();
}

rm_status rm_nll_accurate(const rm_nll &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_nll, rm_nll_result>(f, RM_PAIR_STACK, undecided, stream);
}

rm_status rm_nll_reduce(const rm_nll &f, rm_superaccumulator *sums, rm_superaccumulator *weights, int blocks,
                        cudaStream_t stream) {
  const workspace stack(RM_PAIR_STACK, stream);
  if (!stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH(nll_total_kernel, 1, RM_PARTS_MAX, stream, f, sums, weights, blocks, static_cast<char *>(stack.data));
  return launched();
}
