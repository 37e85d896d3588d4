/* The public optimiser steps: floating-point environment, threads. */
#include "../api/env.h"
#include "../api/threads.h"
#include "../dispatch/kernels.h"
#include "kernels.h"
#include "optimizers_job.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

static uint32_t share(const rm_optimizer *o, rm_optimizer_fn *step, int t, int threads) {
  const int64_t unit = 64, units = (o->n + unit - 1) / unit; /* whole vectors and lines of the cache */
  int64_t begin = units * t / threads * unit, end = units * (t + 1) / threads * unit;
  if (end > o->n) end = o->n;
  return begin < end ? step(o, begin, end) : 0;
}

static rm_status run(const rm_optimizer *o, const struct rm_kernels *kernels) {
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_optimizer_fn *const *table = o->kind == RM_SGD ? kernels->nn->sgd : kernels->nn->adam;
  rm_optimizer_fn *step = o->constants.fast ? table[o->format] : NULL;
  const int64_t grain = step ? GRAIN : GRAIN / 64;
  const int threads = o->n < 2 * grain ? 1 : rm_threads_for(o->n / grain);
  if (!step) step = rm_optimizer_slowly;
  if (threads == 1) {
    flags = share(o, step, 0, 1);
  } else {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : flags)
#endif
    for (int t = 0; t < threads; t++) {
      const rm_env worker = rm_env_enter();
      flags |= share(o, step, t, threads);
      rm_env_leave(worker, 0);
    }
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  rm_optimizer o;
  const rm_status status = rm_sgd_job(&o, format, n, p, g, b, options);
  return status || n == 0 ? status : run(&o, kernels);
}

rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                       const rm_adam_options *options) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  rm_optimizer o;
  const rm_status status = rm_adam_job(&o, format, n, p, g, m, v, w, options);
  return status || n == 0 ? status : run(&o, kernels);
}
