/* The public optimiser steps. Threads share the vector loop, or the accurate phase. */
#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../rows/kernels.h"
#include "args.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

typedef struct {
  const rm_optimizer *o;
  rm_optimizer_fn *loop;
} plan;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const plan *p = context;
  return p->loop(p->o, begin, end);
}

static rm_status run(const rm_optimizer *o, rm_optimizer_fn *const *loops) {
  const rm_env env = rm_env_enter();
  const int by_words = !o->random.mode || !rm_is_directed(o->random.mode);
  const int fast = o->constants.fast && o->random.mode != RM_ROUND_UP_DOWN && by_words;
  const plan p = {o, fast ? loops[o->format] : rm_optimizer_accurate_range};
  const uint32_t flags = rm_in_parts(o->n, fast ? GRAIN : GRAIN / 64, part, &p);
  rm_env_leave(env, flags & ~RM_STEP_UNDECIDED);
  return flags & RM_STEP_UNDECIDED ? RM_ERR_UNDECIDED : RM_OK;
}

static rm_status sgd(rm_optimizer *o, const rm_sgd_options *options, const rm_random_rounding *r) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_sgd_check(o, options);
  if (status || o->n == 0) return status;
  if (r) o->random = *r;
  return run(o, kernels->sgd);
}

static rm_status adam(rm_optimizer *o, const rm_adam_options *options, const rm_random_rounding *r) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_adam_check(o, options);
  if (status || o->n == 0) return status;
  if (r) o->random = *r;
  return run(o, kernels->adam);
}

rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options) {
  rm_optimizer o = {.kind = RM_SGD, .format = format, .n = n, .p = p, .m = b, .g = g};
  return sgd(&o, options, NULL);
}

rm_status rm_random_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                             const rm_random_rounding *r) {
  rm_optimizer o = {.kind = RM_SGD, .format = format, .n = n, .p = p, .m = b, .g = g};
  const rm_status status = rm_rounding_check(r, n < 0 ? 0 : n, 7);
  return status ? status : sgd(&o, options, r);
}

rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                       const rm_adam_options *options) {
  rm_optimizer o = {.kind = RM_ADAM, .format = format, .n = n, .p = p, .m = m, .v = v, .w = w, .g = g};
  return adam(&o, options, NULL);
}

rm_status rm_random_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                              const rm_adam_options *options, const rm_random_rounding *r) {
  rm_optimizer o = {.kind = RM_ADAM, .format = format, .n = n, .p = p, .m = m, .v = v, .w = w, .g = g};
  const rm_status status = rm_rounding_check(r, n < 0 ? 0 : n, 9);
  return status ? status : adam(&o, options, r);
}
