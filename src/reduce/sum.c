/* rm_sum_* and rm_dot_*: argument checks, environment, tiers. */
#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "../dispatch/kernels.h"
#include "exact.h"
#include "stats.h"
#include "strided.h"

/* Positions: n 1, x 2, stride 3, out 4 for a sum; n 1, x 2, stride 3, y 4, stride 5, out 6 for a dot product. */
static rm_status check_sum(int64_t n, const void *x, const void *out) {
  if (!rm_kernels_get()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, 4);
}
static rm_status check_dot(int64_t n, const void *x, const void *y, const void *out) {
  if (!rm_kernels_get()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 4);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, 6);
}

rm_status rm_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out) {
  rm_status status = check_sum(n, x, out);
  if (status) return status;
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_array_f32(&acc, n, x, stride_x);
  rm_write_f32(out, 0, 0, rm_superacc_round_f32(&acc, &flags));
  rm_stats_add(0, 0, 1);
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out) {
  rm_status status = check_sum(n, x, out);
  if (status) return status;
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_array_f64(&acc, n, x, stride_x);
  rm_write_f64(out, 0, 0, rm_superacc_round_f64(&acc, &flags));
  rm_stats_add(0, 0, 1);
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out) {
  rm_status status = check_dot(n, x, y, out);
  if (status) return status;
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_products_f32(&acc, n, x, stride_x, y, stride_y);
  rm_write_f32(out, 0, 0, rm_superacc_round_f32(&acc, &flags));
  rm_stats_add(0, 0, 1);
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out) {
  rm_status status = check_dot(n, x, y, out);
  if (status) return status;
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_products_f64(&acc, n, x, stride_x, y, stride_y);
  rm_write_f64(out, 0, 0, rm_superacc_round_f64(&acc, &flags));
  rm_stats_add(0, 0, 1);
  rm_env_leave(env, flags);
  return RM_OK;
}
