/* The public functions of gradient clipping and of the root of a total. */
#include "clip.h"

#include "../../../crlibm/fp/round.h"
#include "../../../include/repmath/optim.h"
#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../../reduce/exact.h"
#include "../rows/kernels.h"

enum { GRAIN = 1 << 15 };

typedef struct {
  const rm_clip *c;
  rm_clip_fn *loop;
} plan;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const plan *t = context;
  return t->loop(t->c, begin, end);
}

rm_status rm_clip_to_norm(int format, int64_t n, void *g, const rm_accumulator *squares, double max_norm) {
  const struct rm_nn_kernels *kernels = rm_nn_kernels();
  if (!kernels) return RM_ERR_ISA;
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!squares) return RM_STATUS(RM_ERR_NULL, 4);
  if (!(max_norm >= 0.0 && rm_is_finite(max_norm))) return RM_STATUS(RM_ERR_RANGE, 5);
  const rm_superaccumulator *sum = rm_accumulator_sum(squares);
  const int nan = sum->classes & ~(uint32_t)RM_ACC_PINF;
  if (!sum->classes && rm_superacc_get_top(sum).negative) return RM_STATUS(RM_ERR_RANGE, 4);
  rm_clip c = {.format = format, .g = g, .max_norm = max_norm, .squares = sum};
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  if (nan) {
    const uint64_t bits = rm_nan_bits(format);
    const size_t size = (size_t)rm_size_of(format);
    for (int64_t i = 0; i < n; i++) __builtin_memcpy(c.g + (size_t)i * size, &bits, size);
  } else if (rm_clip_prepare(&c)) {
    const plan t = {&c, c.fast ? kernels->clip[format] : rm_clip_accurate_range};
    flags = rm_in_parts(n, GRAIN, part, &t);
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_root_of_total(const rm_accumulator *squares, double *out) {
  if (!squares) return RM_STATUS(RM_ERR_NULL, 1);
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  const rm_superaccumulator *sum = rm_accumulator_sum(squares);
  if (!sum->classes && rm_superacc_get_top(sum).negative) return RM_STATUS(RM_ERR_RANGE, 1);
  const rm_env env = rm_env_enter();
  *out = rm_root_of_sum(sum);
  rm_env_leave(env, 0);
  return RM_OK;
}
