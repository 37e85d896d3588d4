/* The fast phase of elements: one thread for each element runs the CPU's function of it. If that would turn to big numbers
 * (rm_row_defer), it stores nothing and leaves the element undecided for elements_accurate.h. Each file of an operator
 * includes one of the two. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/rows/parallel.h" /* declares argument checks, which are C */
}

RM_FN int rm_row_defer(rm_row_state *s) {
  s->deferred = 1;
  return 1;
}

namespace {

template <class Operation, rm_row_fn *element>
__global__ void __launch_bounds__(RM_BLOCK)
    elements_kernel(const __grid_constant__ Operation f, int64_t n, rm_undecided_set undecided) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    rm_row_state state = {};
    element(&f, i, &state);
    if (state.deferred) undecided.add(i);
  }
}

/* rest: accurate_elements of another file. */
template <class Operation, rm_row_fn *element>
rm_status each_element(const Operation &f, int64_t n,
                       rm_status (*accurate)(const Operation &f, const rm_undecided_set &undecided, cudaStream_t stream),
                       rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const workspace bits(rm_undecided_set::bytes(n), s);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, bits, n, false);
  if (status) return status;
  RM_LAUNCH((elements_kernel<Operation, element>), blocks_for(n), RM_BLOCK, s, f, n, undecided);
  return accurate(f, undecided, s);
}

} // namespace
