/* Optimiser steps: coefficients that depend on counts of steps in device memory, and the accurate phase of undecided
 * elements, which the first kernel has not changed. */
#include "optimizers.h"

#include "elements_accurate.h"

#include "../nn/optim/accurate.inl"

#include "../nn/optim/prepare.inl"

namespace {

__global__ void __launch_bounds__(RM_STEP_TENSORS)
    accurate_coefficients_kernel(const __grid_constant__ rm_optimizer o, const __grid_constant__ rm_step_counts counts,
                                 int count, rm_optimizer *prepared) {
  const int k = static_cast<int>(threadIdx.x);
  if (k >= count) return;
  const float steps = *counts.at[k];
  prepared[k] = o;
  prepared[k].t = steps >= 1.0f ? static_cast<int64_t>(steps) : 1;
  rm_step_prepare(prepared + k);
}

RM_STATIC void accurate_step(const void *operation, int64_t number, rm_row_state *) {
  const rm_step_list *const list = static_cast<const rm_step_list *>(operation);
  if (list->is_left_out()) return;
  const int64_t size = rm_size_of(list->o.format), chunk = RM_STEP_CHUNK / size;
  const int which = list->tensor_of(number / chunk);
  const rm_step_tensor *const t = &list->tensor[which];
  const rm_optimizer *const o = &list->step_of(which);
  const int64_t i = number - list->first[which] * chunk;
  if (i >= t->n) return; /* beyond the end, in the last chunk of a tensor */
  const size_t at = static_cast<size_t>(i * size);
  rm_optimizer_element e = {}; /* little endian */
  char *const arrays[] = {static_cast<char *>(t->p), static_cast<char *>(o->m ? t->m : nullptr),
                          static_cast<char *>(o->v ? t->v : nullptr), static_cast<char *>(o->w ? t->w : nullptr)};
  uint64_t *const numbers[] = {&e.p, &e.m, &e.v, &e.w};
  __builtin_memcpy(&e.g, static_cast<const char *>(t->g) + at, static_cast<size_t>(size));
  for (int k = 0; k < 4; k++)
    if (arrays[k]) __builtin_memcpy(numbers[k], arrays[k] + at, static_cast<size_t>(size));
  rm_optimizer_accurate(o, &e);
  for (int k = 0; k < 4; k++)
    if (arrays[k]) __builtin_memcpy(arrays[k] + at, numbers[k], static_cast<size_t>(size));
}

} // namespace

void rm_steps_prepare(const rm_optimizer &o, const rm_step_counts &counts, int count, rm_optimizer *prepared,
                      cudaStream_t stream) {
  RM_LAUNCH(accurate_coefficients_kernel, 1, RM_STEP_TENSORS, stream, o, counts, count, prepared);
}

rm_status rm_steps_accurate(const rm_step_list &list, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_step_list, accurate_step>(list, RM_STEP_STACK, undecided, stream);
}
