/* repmath: matrix products and convolutions on a GPU: the functions of reductions.h and convolution.h over device memory,
 * with their arguments, checks and bits; see cuda.h. Options are read on the host, before the function returns. */
#ifndef REPMATH_CUDA_PRODUCTS_H
#define REPMATH_CUDA_PRODUCTS_H

#include "convolution.h"
#include "cuda_elementwise.h" /* rm_cuda_stream */

#ifdef __cplusplus
extern "C" {
#endif

/* C = RN(A B + bias) over views: strides are in bytes, and C must not overlap an operand. */
RM_API rm_status rm_cuda_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                            const float *b, ptrdiff_t row_b, ptrdiff_t col_b, const float *bias,
                                            ptrdiff_t stride_bias, float *c, ptrdiff_t row_c, ptrdiff_t col_c,
                                            rm_cuda_stream stream);
RM_API rm_status rm_cuda_matmul_strided_f64(int64_t m, int64_t n, int64_t k, const double *a, ptrdiff_t row_a,
                                            ptrdiff_t col_a, const double *b, ptrdiff_t row_b, ptrdiff_t col_b,
                                            const double *bias, ptrdiff_t stride_bias, double *c, ptrdiff_t row_c,
                                            ptrdiff_t col_c, rm_cuda_stream stream);

/* rm_matmul_batched, in any format; format_out is the same format, or RM_FORMAT_F32 for 16-bit operands. */
RM_API rm_status rm_cuda_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k,
                                        const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b,
                                        ptrdiff_t next_b, ptrdiff_t row_b, ptrdiff_t col_b, const void *bias,
                                        ptrdiff_t next_bias, ptrdiff_t stride_bias, void *c, ptrdiff_t next_c,
                                        ptrdiff_t row_c, ptrdiff_t col_c, rm_cuda_stream stream);

/* rm_gemm, in any format: C = RN(alpha op(A) op(B) + beta C), with one rounding. */
RM_API rm_status rm_cuda_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                              const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc,
                              rm_cuda_stream stream);

/* C = RN(alpha A B + beta C), with one rounding, of as many matrices as batch says: views as of rm_matmul_batched, and the
 * bits of rm_gemm for each. C must not overlap an operand. Returns RM_ERR_ENUM, RM_ERR_SIZE, RM_ERR_NULL, RM_ERR_OVERLAP, and
 * writes nothing then. */
RM_API rm_status rm_cuda_gemm_batched(int format, int64_t batch, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
                                      ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                                      ptrdiff_t row_b, ptrdiff_t col_b, double beta, void *c, ptrdiff_t next_c,
                                      ptrdiff_t row_c, ptrdiff_t col_c, rm_cuda_stream stream);

/* rm_conv_forward, rm_conv_grad_input, rm_conv_grad_weight. */
RM_API rm_status rm_cuda_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                      const void *w, const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias,
                                      void *y, const ptrdiff_t *strides_y, rm_cuda_stream stream);
RM_API rm_status rm_cuda_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *strides_g,
                                         const void *w, const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias,
                                         void *gx, const ptrdiff_t *strides_gx, rm_cuda_stream stream);
RM_API rm_status rm_cuda_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                          const void *g, const ptrdiff_t *strides_g, void *gw, const ptrdiff_t *strides_gw,
                                          rm_cuda_stream stream);

/* Which way large matrix products are computed on the current device: in binary64 (f64: in double-double), or as products of
 * integers modulo small numbers, 22 for f64, 13 for f32 and 8 for the 16-bit formats. The bits are the same. The ratio says
 * how many integer products the device computes in the time of one in binary64. Products are of integers where that is at
 * least the number of moduli and what their residues take; of f64 where it is a fortieth of that.
 *
 * A device begins with what the environment variable REPMATH_CUDA_INTEGER_RATIO says (products and this function return
 * RM_ERR_RANGE if that is no such number), or with an estimate from its rates in binary32 and binary64.
 * rm_cuda_measure_integer_ratio measures the ratio by two products of f32 matrices, waits for them, and keeps it; ratio may
 * be NULL. rm_cuda_set_integer_ratio sets it: 0 for no products of integers, INFINITY for all that can be, a negative number
 * for the estimate again. NaN: RM_ERR_RANGE. A call whose workspace was measured before needs to be measured anew. */
RM_API rm_status rm_cuda_integer_ratio(double *ratio);
RM_API rm_status rm_cuda_set_integer_ratio(double ratio);
RM_API rm_status rm_cuda_measure_integer_ratio(double *ratio, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
