/* The arguments of optimiser steps. */
#include "args.h"

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../crlibm/fp/round.h"
#include "../../runtime/env.h"

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM

_Static_assert(sizeof(rm_step_numbers_dd_ball) == sizeof((rm_optimizer *)0)->numbers, "numbers holds them");

/* A coefficient in two parts. */
static void coefficient(const rm_dd_ball *a, double relative, double *parts, int *fast) {
  const double size = vf64_abs(a->hi);
  parts[0] = a->hi;
  parts[1] = a->lo;
  if (size == 0.0 && a->err == 0.0) return;
  if (!(a->err <= size * relative && size >= 0x1p-200 && size <= 0x1p200)) *fast = 0;
}

static void prepare(rm_optimizer *o) {
  rm_step_numbers_dd_ball c = {0};
  rm_optimizer_constants k = {0};
  rm_dd_ball root, t;
  double unused[2];
  k.fast = 1;
  step_numbers_dd_ball(&c, o, 0);
  __builtin_memcpy(o->numbers, &c, sizeof c);
  coefficient(&c.lr, 0.0, unused, &k.fast);
  coefficient(&c.beta1, 0.0, unused, &k.fast);
  coefficient(&c.decay, 0.0, unused, &k.fast);
  coefficient(&c.keep1, 0x1p-100, k.keep1, &k.fast);
  if (o->kind == RM_ADAM) {
    coefficient(&c.beta2, 0.0, unused, &k.fast);
    coefficient(&c.keep2, 0x1p-100, k.keep2, &k.fast);
    coefficient(&c.a, 0x1p-100, k.a, &k.fast);
    rm_dd_ball_sqrt(&root, &c.d2);
    rm_dd_ball_mul(&t, &c.eps, &root);
    coefficient(&t, 0x1p-85, k.eps, &k.fast);
    rm_dd_ball_mul(&t, &c.lr, &root);
    rm_dd_ball_div(&t, &t, &c.d1);
    coefficient(&t, 0x1p-85, k.rate, &k.fast);
  }
  o->constants = k;
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

static rm_status prepared(rm_optimizer *job, rm_optimizer *o) {
  const rm_env env = rm_env_enter();
  prepare(o);
  rm_env_leave(env, 0);
  *job = *o;
  return RM_OK;
}

static int in_range(double x, double end) { return x >= 0.0 && x < end; }

#define INFINITE rm_from_bits64(UINT64_C(0x7ff0000000000000))

rm_status rm_sgd_job(rm_optimizer *job, int format, int64_t n, void *p, const void *g, void *b,
                     const rm_sgd_options *options) {
  if (!options) return RM_STATUS(RM_ERR_NULL, 6);
  const rm_sgd_options *s = options;
  if (!in_range(s->lr, INFINITE) || !in_range(s->momentum, INFINITE) || !in_range(s->weight_decay, INFINITE) ||
      !rm_is_finite(s->dampening) || (s->nesterov && (s->momentum == 0.0 || s->dampening != 0.0)))
    return RM_STATUS(RM_ERR_RANGE, 6);
  rm_optimizer o = {.kind = RM_SGD, .format = format, .n = n, .p = p, .m = s->momentum != 0.0 ? b : NULL, .g = g};
  const char *const arrays[] = {p, g, o.m};
  const rm_status status = check(&o, arrays, 3, s->momentum != 0.0 ? 7 : 3);
  if (status || n == 0) return status;
  o.lr = s->lr, o.beta1 = s->momentum, o.dampening = s->dampening, o.decay = s->weight_decay;
  o.nesterov = s->nesterov != 0, o.negate = s->maximize != 0, o.first = s->first != 0;
  return prepared(job, &o);
}

rm_status rm_adam_job(rm_optimizer *job, int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                      const rm_adam_options *options) {
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
  return prepared(job, &o);
}
