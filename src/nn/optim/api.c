/* The public optimiser steps: floating-point environment, threads. */
#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../rows/kernels.h"
#include "args.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

typedef struct {
  const rm_optimizer *o;
  rm_optimizer_fn *step;
} task;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const task *t = context;
  return t->step(t->o, begin, end);
}

static rm_status run(const rm_optimizer *o, const struct rm_nn_kernels *kernels) {
  const rm_env env = rm_env_enter();
  rm_optimizer_fn *const *table = o->kind == RM_SGD ? kernels->sgd : kernels->adam;
  const int fast = o->constants.fast;
  const task t = {o, fast ? table[o->format] : rm_optimizer_slowly};
  const uint32_t flags = rm_in_parts(o->n, fast ? GRAIN : GRAIN / 64, part, &t);
  rm_env_leave(env, flags & ~RM_STEP_UNDECIDED);
  return flags & RM_STEP_UNDECIDED ? RM_ERR_UNDECIDED : RM_OK;
}

rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  rm_optimizer o;
  const rm_status status = rm_sgd_job(&o, format, n, p, g, b, options);
  return status || n == 0 ? status : run(&o, kernels);
}

rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                       const rm_adam_options *options) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  rm_optimizer o;
  const rm_status status = rm_adam_job(&o, format, n, p, g, m, v, w, options);
  return status || n == 0 ? status : run(&o, kernels);
}
