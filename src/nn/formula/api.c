/* The public functions of formulas and conversions. Threads share the vector loop, or the accurate phase. */
#include "args.h"

#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../rows/kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

typedef struct {
  rm_formula_problem problem;
  rm_formula_fn *loop;
} plan;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const plan *p = context;
  return p->loop(&p->problem, begin, end);
}

rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z, void *out) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  plan p = {{.formula = formula, .format = format, .n = n, .a = a, .x = x, .y = y, .z = z, .out = out},
            rm_formula_accurate_range};
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_formula_check(&p.problem);
  if (status || n == 0) return status;
  const int fast = p.problem.by_vectors;
  const rm_env env = rm_env_enter();
  if (RM_FORMULA_IS_ODD(formula)) p.loop = kernels->odd;
  else if (fast) p.loop = kernels->formula[format];
  const uint32_t flags = rm_in_parts(n, fast ? GRAIN : GRAIN / 64, part, &p);
  rm_env_leave(env, flags);
  return RM_OK;
}

typedef struct {
  rm_convert_fn *loop;
  int from, to;
  const char *x;
  char *out;
} conversion;

static uint32_t converted(const void *context, int64_t begin, int64_t end) {
  const conversion *c = context;
  return c->loop(c->from, c->to, end - begin, c->x + begin * rm_size_of(c->from), c->out + begin * rm_size_of(c->to));
}

rm_status rm_convert(int from, int to, int64_t n, const void *x, void *out) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_convert_check(from, to, n, x, out);
  if (status || n == 0) return status;
  const conversion c = {kernels->convert, from, to, x, out};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(n, 4 * GRAIN, converted, &c));
  return RM_OK;
}

static uint32_t gated(const void *context, int64_t begin, int64_t end) { return rm_nn_kernels()->gate(context, begin, end); }

static rm_status gate(const rm_gate_problem *p, int gradient) {
  if (!rm_nn_kernels()) return RM_ERR_ISA;
  const rm_status status = rm_gate_check(p, gradient);
  if (status || p->rows == 0 || p->n == 0) return status;
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(p->rows * p->n, GRAIN, gated, p));
  return RM_OK;
}

rm_status rm_glu(int format, int64_t rows, int64_t n, const void *x, void *out) {
  const rm_gate_problem p = {.format = format, .rows = rows, .n = n, .x = x, .out = out};
  return gate(&p, 0);
}

rm_status rm_glu_gradient(int format, int64_t rows, int64_t n, const void *g, const void *x, void *out) {
  const rm_gate_problem p = {format, rows, n, g, x, out};
  return gate(&p, 1);
}
