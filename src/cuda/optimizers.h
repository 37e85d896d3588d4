/* Launches optimiser steps: one thread for each element runs the CPU's fast phase (nn/optim/step.h). Elements that it leaves
 * undecided are not written; a second kernel computes them in the accurate phase. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/optim/args.h" /* compiled for the host, as C */
}

#include "../nn/optim/step.h"

/* optimizers_accurate.cu: by threads with a stack of RM_STEP_STACK bytes. */
enum { RM_STEP_STACK = 192 << 10 };
rm_status rm_steps_accurate(const rm_optimizer &o, const rm_undecided_set &undecided, cudaStream_t stream);

namespace {

inline rm_optimizer optimizer_of(int kind, int format, int64_t n, void *p, const void *g) {
  rm_optimizer o = {};
  o.kind = kind, o.format = format, o.n = n, o.p = static_cast<char *>(p), o.g = static_cast<const char *>(g);
  return o;
}

template <class T, int fmt, bool adam>
__global__ void step_kernel(rm_optimizer o, rm_undecided_set undecided, bool by_words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int coupled = o.decay != 0.0 && !o.decoupled;
  const int mode = adam ? o.w != nullptr : !o.m ? RM_PLAIN : o.nesterov ? RM_NESTEROV : RM_MOMENTUM;
  char *const arrays[] = {o.p, o.m, o.v, o.w};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < o.n; i += step) {
    const int64_t at = i * static_cast<int64_t>(sizeof(T));
    T in[4] = {}, g = element<T>::load(o.g + at, by_words), out;
    for (int k = 0; k < 4; k++)
      if (arrays[k]) in[k] = element<T>::load(arrays[k] + at, by_words);
    const rm_step_arrays a = {reinterpret_cast<char *>(in), reinterpret_cast<char *>(in + 1),
                              reinterpret_cast<char *>(in + 2), reinterpret_cast<char *>(in + 3),
                              reinterpret_cast<const char *>(&g)};
    rm_step_vectors y;
    const vm64 lanes =
        adam ? rm_adam_values(&o, &a, fmt, coupled, mode, 0, &y) : rm_sgd_values(&o, &a, fmt, coupled, mode, 0, &y);
    if (!vm64_none(lanes)) {
      undecided.add(i);
      continue;
    }
    const vf64 values[] = {y.p, y.m, y.v, y.w};
    for (int k = 0; k < 4; k++)
      if (arrays[k]) {
        rm_store_elements(reinterpret_cast<char *>(&out), values[k], fmt);
        element<T>::store(arrays[k] + at, out, by_words);
      }
  }
}

template <class T, int fmt, bool adam> rm_status launch_step(const rm_optimizer &o, cudaStream_t stream) {
  workspace work(rm_undecided_set::bytes(o.n), stream);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, work, o.n, !o.constants.fast);
  if (status) return status;
  const bool by_words =
      aligned<T>(o.p, 0) && aligned<T>(o.g, 0) && aligned<T>(o.m, 0) && aligned<T>(o.v, 0) && aligned<T>(o.w, 0);
  if (o.constants.fast) RM_LAUNCH((step_kernel<T, fmt, adam>), blocks_for(o.n), RM_BLOCK, stream, o, undecided, by_words);
  return rm_steps_accurate(o, undecided, stream);
}

template <bool adam> rm_status launch_steps(const rm_optimizer &o, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  switch (o.format) {
    case RM_F16: return launch_step<uint16_t, RM_F16, adam>(o, s);
    case RM_BF16: return launch_step<uint16_t, RM_BF16, adam>(o, s);
    case RM_F32: return launch_step<float, RM_F32, adam>(o, s);
    default: return launch_step<double, RM_F64, adam>(o, s);
  }
}

} // namespace
