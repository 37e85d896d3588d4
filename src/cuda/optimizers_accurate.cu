/* Optimiser steps: the accurate phase of undecided elements, which the first kernel has not changed. */
#include "optimizers.h"

#include "elements_accurate.h"

#include "../nn/optim/accurate.inl"

namespace {

RM_STATIC void accurate_step(const void *operation, int64_t number, rm_row_state *) {
  const rm_step_list *const list = static_cast<const rm_step_list *>(operation);
  const rm_optimizer *const o = &list->o;
  const int64_t size = rm_size_of(o->format), chunk = RM_STEP_CHUNK / size;
  const int which = list->tensor_of(number / chunk);
  const rm_cuda_step_arrays *const t = &list->tensor[which];
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

rm_status rm_steps_accurate(const rm_step_list &list, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_step_list, accurate_step>(list, RM_STEP_STACK, undecided, stream);
}
