/* The public accumulator: the superaccumulator behind argument checks and the floating-point environment guard. */
#include <stdlib.h>

#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "exact.h"
#include "strided.h"

struct rm_accumulator {
  rm_superaccumulator sum;
};

rm_accumulator *rm_accumulator_new(void) { return calloc(1, sizeof(rm_accumulator)); }
void rm_accumulator_free(rm_accumulator *acc) { free(acc); }

static rm_status check(const rm_accumulator *acc, int64_t n, const void *x, int position) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, position);
  return RM_OK;
}

rm_status rm_accumulator_add_f32(rm_accumulator *acc, int64_t n, const float *x, ptrdiff_t stride_x) {
  rm_status status = check(acc, n, x, 3);
  if (status) return status;
  rm_env env = rm_env_enter(); /* a subnormal is converted: it must not be flushed */
  rm_superacc_add_array_f32(&acc->sum, n, x, stride_x);
  rm_env_leave(env, 0);
  return RM_OK;
}

rm_status rm_accumulator_add_f64(rm_accumulator *acc, int64_t n, const double *x, ptrdiff_t stride_x) {
  rm_status status = check(acc, n, x, 3);
  if (!status) rm_superacc_add_array_f64(&acc->sum, n, x, stride_x);
  return status;
}

rm_status rm_accumulator_add_products_f64(rm_accumulator *acc, int64_t n, const double *x, ptrdiff_t stride_x,
                                          const double *y, ptrdiff_t stride_y) {
  rm_status status = check(acc, n, x, 3);
  if (!status) status = check(acc, n, y, 5);
  if (!status) rm_superacc_add_products_f64(&acc->sum, n, x, stride_x, y, stride_y);
  return status;
}

rm_status rm_accumulator_merge(rm_accumulator *into, const rm_accumulator *from) {
  if (!into) return RM_STATUS(RM_ERR_NULL, 1);
  if (!from) return RM_STATUS(RM_ERR_NULL, 2);
  rm_superacc_merge(&into->sum, &from->sum);
  return RM_OK;
}

static rm_status check_round(const rm_accumulator *acc, const void *out) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, 2);
}

rm_status rm_accumulator_round_f32(const rm_accumulator *acc, float *out) {
  rm_status status = check_round(acc, out);
  if (status) return status;
  uint32_t flags = 0;
  rm_env env = rm_env_enter();
  rm_write_f32(out, 0, 0, rm_superacc_round_f32(&acc->sum, &flags));
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_accumulator_round_f64(const rm_accumulator *acc, double *out) {
  rm_status status = check_round(acc, out);
  if (status) return status;
  uint32_t flags = 0;
  rm_env env = rm_env_enter();
  rm_write_f64(out, 0, 0, rm_superacc_round_f64(&acc->sum, &flags));
  rm_env_leave(env, flags);
  return RM_OK;
}
