/* A thread has the floating-point environment that the thread had which began it. So the threads of a pool that began while
 * subnormal numbers were flushed go on flushing them, whatever the caller's own environment is by then; only the threads
 * themselves can change that. */
#include "pools.h"

#include <fenv.h>

static _Thread_local struct {
  fenv_t before;
  int held;
} own;

/* The caller is the first thread of the region: it gives the address of its own record, by which it knows itself. */
static void hold(void *caller) {
  if (caller == &own) return;
  if (!own.held) fegetenv(&own.before);
  own.held = 1;
  fesetenv(FE_DFL_ENV);
}

static void release(void *caller) {
  if (caller == &own || !own.held) return;
  fesetenv(&own.before);
  own.held = 0;
}

void rm_py_pool_hold(rm_py_parallel *parallel) { parallel(hold, &own, 0, 0); }

void rm_py_pool_release(rm_py_parallel *parallel) { parallel(release, &own, 0, 0); }
