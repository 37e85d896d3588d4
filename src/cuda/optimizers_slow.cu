/* The slow tiers of optimiser steps, for the elements that the fast kernels left as they were. */
#include "optimizers.h"

#include "../nn/optimizers_slow.c"

namespace {

__global__ void __launch_bounds__(RM_BIG_THREADS) finish_kernel(rm_optimizer o, rm_open_set open, char *memory) {
  big_begin(memory, RM_STEP_STACK);
  each_open(open, [&](int64_t i) { rm_optimizer_slowly(&o, i, i + 1); });
}

} // namespace

rm_status rm_finish_steps(const rm_optimizer &o, const rm_open_set &open, cudaStream_t stream) {
  const big_threads threads(o.n, RM_STEP_STACK);
  const workspace work(threads.memory(), stream);
  if (!work.data) return RM_ERR_DEVICE;
  RM_LAUNCH(finish_kernel, threads.blocks, RM_BIG_THREADS, stream, o, open, static_cast<char *>(work.data));
  return launched();
}
