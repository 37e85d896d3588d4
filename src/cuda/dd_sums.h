/* Sums of terms in double-double with an error bound, and the classes of terms that are not finite
 * (reduce/superaccumulator.h): each thread adds a part, and the parts are joined in a tree. In any order, a total that its
 * bound decides is the sum of the reals. */
#pragma once

#include "launch.h"

#include "../nn/loss/dd_loss_element.h"

struct rm_dd_ball_part {
  rm_dd_ball sum;
  uint32_t classes;
  int undecided; /* a term needs big numbers */
};

/* Adds the term of element i or returns its classes; may defer it (rm_row_defer). */
typedef uint32_t rm_dd_ball_add_fn(const rm_dd_loss *f, int64_t i, rm_dd_ball *sum, rm_row_state *state);

namespace {

enum { RM_DD_BALL_BLOCK = 64, RM_DD_BALL_BLOCKS = 1024 };

/* Joins the parts of a block, for thread 0. */
__device__ rm_dd_ball_part dd_ball_join(rm_dd_ball_part mine) {
  __shared__ rm_dd_ball_part part[RM_DD_BALL_BLOCK];
  const int t = static_cast<int>(threadIdx.x);
  part[t] = mine;
  for (int half = RM_DD_BALL_BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t >= half) continue;
    rm_dd_ball_add(&part[t].sum, &part[t].sum, &part[t + half].sum);
    part[t].classes |= part[t + half].classes;
    part[t].undecided |= part[t + half].undecided;
  }
  return part[0];
}

template <rm_dd_ball_add_fn *add>
__global__ void __launch_bounds__(RM_DD_BALL_BLOCK) dd_ball_sum_kernel(rm_dd_loss f, rm_dd_ball_part *parts) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * RM_DD_BALL_BLOCK;
  rm_dd_ball_part mine = {};
  rm_row_state state = {};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * RM_DD_BALL_BLOCK + threadIdx.x; i < f.n; i += step)
    mine.classes |= add(&f, i, &mine.sum, &state);
  mine.undecided = state.deferred;
  const rm_dd_ball_part joined = dd_ball_join(mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = joined;
}

/* total: dd_ball_total, instantiated by the file of the accurate phase. */
template <rm_dd_ball_add_fn *add>
rm_status dd_ball_sum(const rm_dd_loss &f,
                      rm_status (*total)(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, cudaStream_t stream),
                      rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  int64_t blocks = (f.n + 4 * RM_DD_BALL_BLOCK - 1) / (4 * RM_DD_BALL_BLOCK);
  if (blocks < 1) blocks = 1;
  if (blocks > RM_DD_BALL_BLOCKS) blocks = RM_DD_BALL_BLOCKS;
  const workspace work(static_cast<size_t>(blocks) * sizeof(rm_dd_ball_part), s);
  rm_dd_ball_part *parts = static_cast<rm_dd_ball_part *>(work.data);
  if (!parts) return RM_ERR_DEVICE;
  RM_LAUNCH((dd_ball_sum_kernel<add>), blocks, RM_DD_BALL_BLOCK, s, f, parts);
  return total(f, parts, static_cast<int>(blocks), s);
}

/* Rounds the joined parts where they decide the result; else one thread computes it from all elements as the CPU does, by
 * `whole`. */
template <uint64_t (*whole)(const rm_dd_loss *f, rm_row_state *state)>
__global__ void __launch_bounds__(RM_DD_BALL_BLOCK)
    dd_ball_total_kernel(rm_dd_loss f, const rm_dd_ball_part *parts, int blocks, char *stack, int64_t bytes) {
  rm_dd_ball_part mine = {};
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += RM_DD_BALL_BLOCK) {
    rm_dd_ball_add(&mine.sum, &mine.sum, &parts[i].sum);
    mine.classes |= parts[i].classes;
    mine.undecided |= parts[i].undecided;
  }
  mine = dd_ball_join(mine);
  if (threadIdx.x != 0) return;
  rm_row_state state = {};
  uint64_t bits = 0;
  if (mine.undecided || !rm_dd_loss_without_terms(&f, mine.classes, &bits, &state)) {
    rm_dd_loss_counted_dd_ball(&mine.sum, f.count, 0);
    if (mine.undecided || !rm_dd_ball_round(&mine.sum, f.format, RM_NEAREST, &state.flags, &bits)) {
      rm_big_begin(stack, bytes);
      bits = whole(&f, &state);
    }
  }
  rm_write_bits(f.out.base, bits, f.format);
}

template <uint64_t (*whole)(const rm_dd_loss *f, rm_row_state *state)>
rm_status dd_ball_total(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, int64_t bytes, cudaStream_t stream) {
  const workspace stack(static_cast<size_t>(bytes), stream);
  if (!stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH((dd_ball_total_kernel<whole>), 1, RM_DD_BALL_BLOCK, stream, f, parts, blocks, static_cast<char *>(stack.data),
            bytes);
  return launched();
}

} // namespace
