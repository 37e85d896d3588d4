/* The accurate phase of elements: those that elements_fast.h leaves undecided. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/rows/parallel.h" /* declares argument checks, which are C */
}

RM_FN int rm_row_defer(rm_row_state *) { return 0; }

namespace {

template <class Operation, rm_row_fn *element>
__global__ void __launch_bounds__(1)
    accurate_kernel(const __grid_constant__ Operation f, rm_undecided_set undecided, char *stacks, int64_t stack) {
  big_begin(stacks, stack);
  each_undecided(undecided, [&](int64_t i) {
    rm_row_state state = {};
    element(&f, i, &state);
  });
}

template <class Operation, rm_row_fn *element>
rm_status accurate_elements(const Operation &f, int64_t stack, const rm_undecided_set &undecided, cudaStream_t stream) {
  const big_workers workers(undecided.n, stack);
  const workspace stacks(workers.memory(), stream);
  if (!stacks.data) return RM_ERR_DEVICE;
  rm_cuda_count_listed(undecided.all ? nullptr : &undecided.counts->count, undecided.n, stream);
  RM_LAUNCH((accurate_kernel<Operation, element>), workers.count, 1, stream, f, undecided, static_cast<char *>(stacks.data),
            stack);
  return launched();
}

} // namespace
