/* The public elementwise functions: argument checks, floating-point environment, threads, then the kernel table. */
#include "../../include/repmath/elementwise.h"

#include "../dispatch/kernels.h"
#include "env.h"
#include "threads.h"

enum { RM_GRAIN = 1 << 15 }; /* elements that are worth a thread */

static rm_status map(int function, int format, int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!y) return RM_STATUS(RM_ERR_NULL, 4);
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  rm_map_fn *kernel = kernels->map[function][format];
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  int threads = n < 2 * RM_GRAIN ? 1 : rm_threads_for(n / RM_GRAIN);
  if (threads == 1) {
    flags = kernel(n, x, sx, y, sy);
  } else {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : flags)
#endif
    for (int t = 0; t < threads; t++) {
      rm_env worker = rm_env_enter();
      int64_t from = n / threads * t + (t < n % threads ? t : n % threads);
      int64_t count = n / threads + (t < n % threads);
      flags |= kernel(count, (const char *)x + from * sx, sx, (char *)y + from * sy, sy);
      rm_env_leave(worker, 0);
    }
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

extern rm_map_fn *const rm_map_table__base[RM_FN_COUNT][RM_FORMATS];

/* One value: the base build's loop of one element, which runs on every CPU. */
#define RM_SCALAR(name, fmt, FMT, type)                          \
  type rm_##name##_##fmt(type x) {                               \
    type y;                                                      \
    rm_env env = rm_env_enter();                                 \
    uint32_t flags = rm_map_table__base[RM_FN_##name][FMT](1, (const char *)&x, sizeof x, (char *)&y, sizeof y); \
    rm_env_leave(env, flags);                                    \
    return y;                                                    \
  }
#define RM_ARRAY(name, fmt, FMT, type)                                                                        \
  rm_status rm_v##name##_##fmt(int64_t n, const type *x, ptrdiff_t stride_x, type *y, ptrdiff_t stride_y) {   \
    return map(RM_FN_##name, FMT, n, x, stride_x, y, stride_y);                                               \
  }
#define RM_FUNCTION(name, NAME, hard, doc)  \
  RM_SCALAR(name, f16, RM_F16, rm_f16)      \
  RM_SCALAR(name, bf16, RM_BF16, rm_bf16)   \
  RM_SCALAR(name, f32, RM_F32, float)       \
  RM_SCALAR(name, f64, RM_F64, double)      \
  RM_ARRAY(name, f16, RM_F16, rm_f16)       \
  RM_ARRAY(name, bf16, RM_BF16, rm_bf16)    \
  RM_ARRAY(name, f32, RM_F32, float)        \
  RM_ARRAY(name, f64, RM_F64, double)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
