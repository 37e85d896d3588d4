/* Results of elements by one thread each, as far as the CPU's function of an element goes without big numbers: where it would turn to
 * them (rm_row_defer) nothing is stored, and the element is left to elements_rest.h. Each file of an operator includes one of the two. */
#ifndef RM_CUDA_ELEMENTS_FIRST_H
#define RM_CUDA_ELEMENTS_FIRST_H

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
__global__ void __launch_bounds__(RM_BLOCK) elements_kernel(Operation f, int64_t n, rm_open_set left) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    rm_row_state state = {};
    element(&f, i, &state);
    if (state.deferred) left.add(i);
  }
}

/* rest: rest_of_elements of another file. */
template <class Operation, rm_row_fn *element>
rm_status each_element(const Operation &f, int64_t n,
                       rm_status (*rest)(const Operation &f, const rm_open_set &left, cudaStream_t stream),
                       rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const workspace bits(rm_open_set::bytes(n), s);
  rm_open_set left;
  const rm_status status = open_begin(&left, bits, n, false);
  if (status) return status;
  RM_LAUNCH((elements_kernel<Operation, element>), blocks_for(n), RM_BLOCK, s, f, n, left);
  return rest(f, left, s);
}

} // namespace

#endif
