/* Checks the arguments of optimiser steps. */
#include "args.h"

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../crlibm/fp/round.h"
#include "../../runtime/env.h"

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM
#include "prepare.inl"

_Static_assert(sizeof(rm_step_numbers_dd_ball) == sizeof((rm_optimizer *)0)->numbers, "numbers holds them");

/* Positions of the arguments that both steps have; the options follow the arrays. */
enum { FORMAT = 1, N, ARRAYS };

/* needed: bits of the arrays that must be there; the second one is only read. */
static rm_status check(const rm_optimizer *o, const char *const *arrays, int count, unsigned needed) {
  if (o->format < 0 || o->format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (o->n < 0) return RM_STATUS(RM_ERR_SIZE, N);
  if (o->n == 0) return RM_OK;
  const uintptr_t bytes = (uintptr_t)o->n * (uintptr_t)rm_size_of(o->format);
  for (int i = 0; i < count; i++)
    if (!arrays[i] && (needed >> i & 1)) return RM_STATUS(RM_ERR_NULL, ARRAYS + i);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < i; k++) {
      const uintptr_t a = (uintptr_t)arrays[i], b = (uintptr_t)arrays[k];
      if (a && b && a < b + bytes && b < a + bytes) return RM_STATUS(RM_ERR_OVERLAP, ARRAYS + i);
    }
  return RM_OK;
}

static rm_status prepared(rm_optimizer *o) {
  const rm_env env = rm_env_enter();
  rm_step_prepare(o);
  rm_env_leave(env, 0);
  return RM_OK;
}

static int in_range(double x, double end) { return x >= 0.0 && x < end; }

#define RM_INFINITE rm_from_bits64(UINT64_C(0x7ff0000000000000))

rm_status rm_sgd_check(rm_optimizer *o, const rm_sgd_options *s) {
  enum { OPTIONS = ARRAYS + 3 };
  if (!s) return RM_STATUS(RM_ERR_NULL, OPTIONS);
  if (!in_range(s->lr, RM_INFINITE) || !in_range(s->momentum, RM_INFINITE) || !in_range(s->weight_decay, RM_INFINITE) ||
      !rm_is_finite(s->dampening) || (s->nesterov && (s->momentum == 0.0 || s->dampening != 0.0)))
    return RM_STATUS(RM_ERR_RANGE, OPTIONS);
  if (s->momentum == 0.0) o->m = NULL;
  const char *const arrays[] = {o->p, o->g, o->m};
  const rm_status status = check(o, arrays, 3, s->momentum != 0.0 ? 7 : 3);
  if (status || o->n == 0) return status;
  o->lr = s->lr, o->beta1 = s->momentum, o->dampening = s->dampening, o->decay = s->weight_decay;
  o->nesterov = s->nesterov != 0, o->negate = s->maximize != 0, o->first = s->first != 0;
  return prepared(o);
}

rm_status rm_adam_check(rm_optimizer *o, const rm_adam_options *s) {
  enum { OPTIONS = ARRAYS + 5 };
  if (!s) return RM_STATUS(RM_ERR_NULL, OPTIONS);
  if (!in_range(s->lr, RM_INFINITE) || !in_range(s->weight_decay, RM_INFINITE) || !in_range(s->eps, RM_INFINITE) ||
      !in_range(s->beta1, 1.0) || !in_range(s->beta2, 1.0) || s->step < 1)
    return RM_STATUS(RM_ERR_RANGE, OPTIONS);
  const char *const arrays[] = {o->p, o->g, o->m, o->v, o->w};
  const rm_status status = check(o, arrays, 5, 15);
  if (status || o->n == 0) return status;
  o->lr = s->lr, o->beta1 = s->beta1, o->beta2 = s->beta2, o->eps = s->eps, o->decay = s->weight_decay;
  o->t = s->step, o->decoupled = s->decoupled != 0, o->negate = s->maximize != 0;
  return prepared(o);
}
