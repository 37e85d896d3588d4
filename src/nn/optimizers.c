/* The public optimiser steps: argument checks, floating-point environment, threads. */
#include "../../include/repmath/optim.h"

#include "../../crlibm/fp/round.h"
#include "../api/env.h"
#include "../api/threads.h"
#include "../dispatch/kernels.h"
#include "kernels.h"
#include "optimizers.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

static uint32_t share(const rm_optimizer *o, rm_optimizer_fn *step, int t, int threads) {
  const int64_t unit = 64, units = (o->n + unit - 1) / unit; /* whole vectors and lines of the cache */
  int64_t begin = units * t / threads * unit, end = units * (t + 1) / threads * unit;
  if (end > o->n) end = o->n;
  return begin < end ? step(o, begin, end) : 0;
}

static rm_status run(rm_optimizer *o, const struct rm_kernels *kernels) {
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_optimizer_prepare(o);
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

/* Format, length and the arrays, the first of which is argument 3. needed: bits of those that must be there; the second is
 * read only. */
static rm_status check(const rm_optimizer *o, const char *const *arrays, int count, unsigned needed) {
  if (o->format < 0 || o->format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (o->n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (o->n == 0) return RM_OK;
  const uintptr_t bytes = (uintptr_t)o->n * (uintptr_t)rm_size_of(o->format);
  for (int i = 0; i < count; i++)
    if (!arrays[i] && (needed >> i & 1)) return RM_STATUS(RM_ERR_NULL, 3 + i);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < i; k++) {
      const uintptr_t a = (uintptr_t)arrays[i], b = (uintptr_t)arrays[k];
      if (a && b && a < b + bytes && b < a + bytes) return RM_STATUS(RM_ERR_OVERLAP, 3 + i);
    }
  return RM_OK;
}

static int in_range(double x, double end) { return x >= 0.0 && x < end; }

#define INFINITE rm_from_bits64(UINT64_C(0x7ff0000000000000))

rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  if (!options) return RM_STATUS(RM_ERR_NULL, 6);
  const rm_sgd_options *s = options;
  if (!in_range(s->lr, INFINITE) || !in_range(s->momentum, INFINITE) || !in_range(s->weight_decay, INFINITE) ||
      s->dampening - s->dampening != 0.0 || (s->nesterov && (s->momentum == 0.0 || s->dampening != 0.0)))
    return RM_STATUS(RM_ERR_RANGE, 6);
  rm_optimizer o = {.kind = RM_SGD, .format = format, .n = n, .p = p, .m = s->momentum != 0.0 ? b : NULL, .g = g};
  const char *const arrays[] = {p, g, o.m};
  const rm_status status = check(&o, arrays, 3, s->momentum != 0.0 ? 7 : 3);
  if (status || n == 0) return status;
  o.lr = s->lr, o.beta1 = s->momentum, o.dampening = s->dampening, o.decay = s->weight_decay;
  o.nesterov = s->nesterov != 0, o.negate = s->maximize != 0, o.first = s->first != 0;
  return run(&o, kernels);
}

rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                       const rm_adam_options *options) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  if (!options) return RM_STATUS(RM_ERR_NULL, 8);
  const rm_adam_options *s = options;
  if (!in_range(s->lr, INFINITE) || !in_range(s->weight_decay, INFINITE) || !in_range(s->eps, INFINITE) ||
      !in_range(s->beta1, 1.0) || !in_range(s->beta2, 1.0) || s->step < 1)
    return RM_STATUS(RM_ERR_RANGE, 8);
  rm_optimizer o = {.kind = RM_ADAM, .format = format, .n = n, .p = p, .m = m, .v = v, .w = w, .g = g};
  const char *const arrays[] = {p, g, m, v, w};
  const rm_status status = check(&o, arrays, 5, 15);
  if (status || n == 0) return status;
  o.lr = s->lr, o.beta1 = s->beta1, o.beta2 = s->beta2, o.eps = s->eps, o.decay = s->weight_decay;
  o.t = s->step, o.decoupled = s->decoupled != 0, o.negate = s->maximize != 0;
  return run(&o, kernels);
}
