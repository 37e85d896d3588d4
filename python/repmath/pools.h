/* The floating-point environment of the threads of another library's pool. No NumPy here. */
#pragma once

/* How OpenMP's runtime of GNU begins a parallel region: GOMP_parallel(function, data, threads or 0, flags). */
typedef void rm_py_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);

/* Each thread of the caller's pool, without the caller, gets the default environment; until `release`, which gives back what
 * it had. */
void rm_py_pool_hold(rm_py_parallel *parallel);
void rm_py_pool_release(rm_py_parallel *parallel);
