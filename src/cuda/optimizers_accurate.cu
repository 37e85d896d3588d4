/* Optimiser steps: the accurate phase of undecided elements, which the first kernel has not written. */
#include "optimizers.h"

#include "elements_accurate.h"

#include "../nn/optim/accurate.inl"

namespace {

RM_STATIC void accurate_step(const void *operation, int64_t i, rm_row_state *) {
  rm_optimizer_accurate_range(static_cast<const rm_optimizer *>(operation), i, i + 1);
}

} // namespace

rm_status rm_steps_accurate(const rm_optimizer &o, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_optimizer, accurate_step>(o, RM_STEP_STACK, undecided, stream);
}
