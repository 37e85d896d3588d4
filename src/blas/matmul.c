/* rm_matmul_*: the public entry points. */
#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "../dispatch/kernels.h"
#include "../reduce/stats.h"
#include "../reduce/strided.h"
#include "exact_gemm.h"
#include "views.h"

static rm_status run_f32(const rm_matmul_problem *p) {
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++)
      rm_write_f32(p->c.base + i * p->c.row, j, p->c.col, rm_exact_element_f32(p, i, j, &flags));
  rm_stats_add(0, 0, p->m * p->n);
  rm_env_leave(env, flags);
  return RM_OK;
}

static rm_status run_f64(const rm_matmul_problem *p) {
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++)
      rm_write_f64(p->c.base + i * p->c.row, j, p->c.col, rm_exact_element_f64(p, i, j, &flags));
  rm_stats_add(0, 0, p->m * p->n);
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_matmul_f32(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                        const float *b, int64_t ldb, const float *bias, float *c, int64_t ldc) {
  rm_matmul_problem p;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  rm_status status = rm_check_dense(&p, layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc, sizeof *c);
  return status ? status : run_f32(&p);
}

rm_status rm_matmul_f64(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const double *a,
                        int64_t lda, const double *b, int64_t ldb, const double *bias, double *c, int64_t ldc) {
  rm_matmul_problem p;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  rm_status status = rm_check_dense(&p, layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc, sizeof *c);
  return status ? status : run_f64(&p);
}

static rm_view view(const void *base, ptrdiff_t row, ptrdiff_t col) {
  return (rm_view){(char *)(uintptr_t)base, row, col};
}

rm_status rm_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                const float *b, ptrdiff_t row_b, ptrdiff_t col_b, const float *bias, ptrdiff_t stride_bias,
                                float *c, ptrdiff_t row_c, ptrdiff_t col_c) {
  rm_matmul_problem p = {m, n, k, view(a, row_a, col_a), view(b, row_b, col_b), view(bias, 0, stride_bias),
                         view(c, row_c, col_c)};
  if (!rm_kernels_get()) return RM_ERR_ISA;
  rm_status status = rm_check_strided(&p, sizeof *c);
  return status ? status : run_f32(&p);
}

rm_status rm_matmul_strided_f64(int64_t m, int64_t n, int64_t k, const double *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                const double *b, ptrdiff_t row_b, ptrdiff_t col_b, const double *bias,
                                ptrdiff_t stride_bias, double *c, ptrdiff_t row_c, ptrdiff_t col_c) {
  rm_matmul_problem p = {m, n, k, view(a, row_a, col_a), view(b, row_b, col_b), view(bias, 0, stride_bias),
                         view(c, row_c, col_c)};
  if (!rm_kernels_get()) return RM_ERR_ISA;
  rm_status status = rm_check_strided(&p, sizeof *c);
  return status ? status : run_f64(&p);
}
