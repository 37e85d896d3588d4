/* The public formulas: threads over the loop of vectors, or over the slow tiers. */
#include "args.h"

#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../rows/kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

typedef struct {
  const rm_formula_job *job;
  rm_formula_fn *step;
} task;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const task *t = context;
  return t->step(t->job, begin, end);
}

rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z, void *out) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  rm_formula_job job;
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_formula_begin(&job, formula, format, n, a, x, y, z, out);
  if (status || n == 0) return status;
  const rm_env env = rm_env_enter();
  const task t = {&job, job.by_vectors ? kernels->formula[format] : rm_formula_slowly};
  const uint32_t flags = rm_in_parts(n, job.by_vectors ? GRAIN : GRAIN / 64, part, &t);
  rm_env_leave(env, flags);
  return RM_OK;
}
