/* Divides depthwise convolutions among threads. */
#include "depthwise.h"

#include <stdlib.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../gemm/matmul.h"

/* As in gemm/api.c: less work is not worth a second thread. */
#define RM_PRODUCTS_PER_THREAD (INT64_C(1) << 20)

rm_status rm_conv_run(const rm_matmul_problem *p) {
  rm_depthwise d;
  if (rm_isa_status()) return RM_ERR_ISA;
  const struct rm_conv_kernels *const kernels = rm_conv_kernels();
  if (p->m == 0 || p->n == 0 || p->batch == 0 || !kernels->depthwise_of(&d, p)) return rm_matmul_run(p);
  const double share = (double)p->m * (double)p->n * (double)p->k * (double)p->batch / RM_PRODUCTS_PER_THREAD;
  int threads = share < 2.0 ? 1 : rm_threads_for(share < 1e6 ? (int64_t)share : 1000000);
  if (threads > d.units) threads = (int)d.units;
  const size_t bytes = (d.bytes + 63) / 64 * 64;
  char *const work = malloc(bytes * (size_t)threads);
  if (!work) return RM_ERR_MEMORY;
  uint32_t flags = 0;
  const rm_env caller = rm_env_enter();
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : flags)
#endif
  {
    const rm_env env = rm_env_enter();
    rm_tiers mine = {0, 0, 0};
#if defined(_OPENMP)
    char *const own = work + bytes * (size_t)omp_get_thread_num();
#pragma omp for schedule(dynamic, 1) nowait
#else
    char *const own = work;
#endif
    for (int64_t i = 0; i < d.units; i++) flags |= kernels->depthwise_unit(&d, i, (double *)(void *)own, &mine);
    rm_stats_add(mine.fast, mine.double_double, mine.accumulator);
    rm_env_leave(env, 0);
  }
  free(work);
  rm_env_leave(caller, flags);
  return RM_OK;
}
