/* rm_cuda_matmul_*, rm_cuda_gemm: the public functions of matrix products. The CPU's functions check their arguments
 * (blas/gemm/args.c). */
#include "matmul.h"

#include "launch.h"

rm_status rm_cuda_matmul_run(const rm_matmul_problem *p, rm_cuda_stream stream) {
  if (p->m == 0 || p->n == 0 || p->batch == 0) return RM_OK;
  double ratio;
  const rm_status status = rm_cuda_integer_ratio(&ratio);
  if (status) return status;
  return p->fmt == RM_FORMAT_F64 ? rm_cuda_matmul_dd(p, ratio, stream) : rm_cuda_matmul_b64(p, ratio, stream);
}

namespace {

rm_status strided(rm_matmul_problem *p, int64_t m, int64_t n, int64_t k, rm_view a, rm_view b, rm_view bias, rm_view c,
                  rm_cuda_stream stream) {
  const rm_status status = rm_check_strided(p, m, n, k, a, b, bias, c);
  return status ? status : rm_cuda_matmul_run(p, stream);
}

} // namespace

extern "C" {

rm_status rm_cuda_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                     const float *b, ptrdiff_t row_b, ptrdiff_t col_b, const float *bias,
                                     ptrdiff_t stride_bias, float *c, ptrdiff_t row_c, ptrdiff_t col_c,
                                     rm_cuda_stream stream) {
  rm_matmul_problem p = rm_problem_of(RM_FORMAT_F32, RM_NO_BATCH);
  return strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b), rm_view_of(bias, 0, stride_bias),
                 rm_view_of(c, row_c, col_c), stream);
}

rm_status rm_cuda_matmul_strided_f64(int64_t m, int64_t n, int64_t k, const double *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                     const double *b, ptrdiff_t row_b, ptrdiff_t col_b, const double *bias,
                                     ptrdiff_t stride_bias, double *c, ptrdiff_t row_c, ptrdiff_t col_c,
                                     rm_cuda_stream stream) {
  rm_matmul_problem p = rm_problem_of(RM_FORMAT_F64, RM_NO_BATCH);
  return strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b), rm_view_of(bias, 0, stride_bias),
                 rm_view_of(c, row_c, col_c), stream);
}

rm_status rm_cuda_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k, const void *a,
                                 ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                                 ptrdiff_t row_b, ptrdiff_t col_b, const void *bias, ptrdiff_t next_bias,
                                 ptrdiff_t stride_bias, void *c, ptrdiff_t next_c, ptrdiff_t row_c, ptrdiff_t col_c,
                                 rm_cuda_stream stream) {
  rm_matmul_problem p;
  const rm_status status = rm_check_batch(&p, format, format_out, batch, next_a, next_b, next_bias, next_c);
  if (status) return status;
  return strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b), rm_view_of(bias, 0, stride_bias),
                 rm_view_of(c, row_c, col_c), stream);
}

rm_status rm_cuda_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                       const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc,
                       rm_cuda_stream stream) {
  const rm_alpha_beta alpha_beta = {alpha, beta};
  const rm_dense_product d = {layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, nullptr, c, ldc};
  rm_matmul_problem p;
  const rm_status status = rm_check_gemm(&p, &alpha_beta, format, &d);
  return status ? status : rm_cuda_matmul_run(&p, stream);
}

rm_status rm_cuda_gemm_batched(int format, int64_t batch, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
                               ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                               ptrdiff_t row_b, ptrdiff_t col_b, double beta, void *c, ptrdiff_t next_c, ptrdiff_t row_c,
                               ptrdiff_t col_c, rm_cuda_stream stream) {
  /* Of rm_cuda_matmul_batched, from whose checks the statuses come: its format_out is not here, and what follows is alpha,
   * or beta in the place of a bias of three arguments. */
  static const int at[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 0, 0, 0, 16};
  const rm_alpha_beta alpha_beta = {alpha, beta};
  rm_matmul_problem p;
  rm_status status = rm_check_batch(&p, format, format, batch, next_a, next_b, 0, next_c);
  const bool no_product = alpha == 0.0;
  if (!status) {
    if (alpha != 1.0 || beta != 0.0) p.alpha_beta = &alpha_beta;
    status = rm_check_strided(&p, m, n, no_product && k > 0 ? 0 : k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b),
                              rm_view_of(nullptr, 0, 0), rm_view_of(c, row_c, col_c));
  }
  return status ? RM_STATUS(status & 0xff, at[status >> 8]) : rm_cuda_matmul_run(&p, stream);
}
}
