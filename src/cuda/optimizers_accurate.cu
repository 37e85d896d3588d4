/* Optimiser steps: the accurate phase of undecided elements, which the first kernel has not written. */
#include "optimizers.h"

#include "elements_rest.h"

#include "../nn/optim/accurate.inl"

namespace {

RM_STATIC void step_slowly(const void *operation, int64_t i, rm_row_state *) {
  rm_optimizer_accurate_range(static_cast<const rm_optimizer *>(operation), i, i + 1);
}

} // namespace

rm_status rm_finish_steps(const rm_optimizer &o, const rm_open_set &open, cudaStream_t stream) {
  return rest_of_elements<rm_optimizer, step_slowly>(o, RM_STEP_STACK, open, stream);
}
