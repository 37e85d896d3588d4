/* repmath: exact reductions. Every result is the exact sum, rounded once (spec.md, section 4). */
#ifndef REPMATH_REDUCTIONS_H
#define REPMATH_REDUCTIONS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are distances between elements in BYTES, of any sign, zero included; any alignment is allowed. */

/* *out = RN(sum of x[i]); +0 for n = 0. */
RM_API rm_status rm_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out);
RM_API rm_status rm_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out);

/* *out = RN(sum of x[i] y[i]); +0 for n = 0. */
RM_API rm_status rm_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out);
RM_API rm_status rm_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out);

/* rm_sum     *out = RN(sum of x[i]); +0 for n = 0
 * rm_mean    *out = RN((sum of x[i])/n); NaN for n = 0
 * rm_norm    *out = RN(root of the sum of x[i]^2), the Euclidean norm; +0 for n = 0
 * x has the format format_x, out the format format_out (RM_FORMAT_...). */
RM_API rm_status rm_sum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out);
RM_API rm_status rm_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out);
RM_API rm_status rm_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out);

/* Many sums or means at once: x has four axes of size[] elements, stride[] bytes apart, and the sums run over the last two.
 * out is contiguous and has one element for each place of the first two axes, in C order. It must not overlap x. */
RM_API rm_status rm_sum_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out,
                             void *out);
RM_API rm_status rm_mean_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out,
                              void *out);

/* With the exact mean mu of the x[i], rm_var computes the variance *out = RN(sum of (x[i] - mu)^2 / (n - ddof)) and rm_std
 * the standard deviation, RN of the root of that quotient. The result is NaN for n = 0 and if a term is infinite. If ddof >=
 * n, the divisor counts as 0: the result is NaN if all x[i] are equal, else +inf. RM_ERR_RANGE: ddof is not finite, or n -
 * ddof needs more than 62 bits. */
RM_API rm_status rm_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof);
RM_API rm_status rm_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof);

/* out[i] = RN(x[0] + ... + x[i]), each from the exact sum. out must not overlap x. */
RM_API rm_status rm_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                           ptrdiff_t stride_out);

/* Computes the cumulative sums of each of `rows` rows. Row i begins at x + i row_x and its sums at out + i row_out, in
 * bytes. */
RM_API rm_status rm_cumsum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                int format_out, void *out, ptrdiff_t row_out, ptrdiff_t stride_out);

/* Products of many factors: out[i] = RN(product of the n numbers of row i), 1 for n = 0; or, if partial is not 0, products
 * of the first 1, 2, ... n numbers of each row. Rows are contiguous, in x and in out. Nothing overflows or underflows on the
 * way, and a product that is 0 has its sign. Where undecided[i] is 1 and not 0, the exact product lies so near a boundary of
 * rounding that double-double does not decide it, and out[i] says nothing. If partial is not 0 and the formats are the same,
 * out may be x; else it must not overlap x. No exceptions are raised. */
RM_API rm_status rm_products(int format_x, int64_t rows, int64_t n, const void *x, int partial, int format_out, void *out,
                             uint8_t *undecided);

enum { RM_ROW_MAJOR = 101, RM_COL_MAJOR = 102 };                   /* the values of CBLAS */
enum { RM_NO_TRANS = 111, RM_TRANS = 112, RM_CONJ_TRANS = 113 };

/* C[i,j] = RN(sum over k of op(A)[i,k] op(B)[k,j] + bias[j]), where C is m x n and the sum has k products. If bias is NULL,
 * its term is left out. Leading dimensions count elements. C must not overlap A, B or bias. */
RM_API rm_status rm_matmul_f32(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t lda, const float *b, int64_t ldb, const float *bias, float *c, int64_t ldc);
RM_API rm_status rm_matmul_f64(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const double *a,
                               int64_t lda, const double *b, int64_t ldb, const double *bias, double *c, int64_t ldc);

RM_API rm_status rm_matmul_f16(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const rm_f16 *a,
                               int64_t lda, const rm_f16 *b, int64_t ldb, const rm_f16 *bias, rm_f16 *c, int64_t ldc);
RM_API rm_status rm_matmul_bf16(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const rm_bf16 *a,
                                int64_t lda, const rm_bf16 *b, int64_t ldb, const rm_bf16 *bias, rm_bf16 *c, int64_t ldc);

/* The general form, in any format: C[i,j] = RN(alpha (sum over k of op(A)[i,k] op(B)[k,j]) + beta C[i,j]), with one rounding,
 * where C is m x n. As in BLAS, alpha = 0 leaves A and B unread and beta = 0 leaves C unread. C must not overlap A or B. */
RM_API rm_status rm_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                         const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);

/* The product and bias of rm_matmul_f32 over views. Row and column strides are in bytes, of any sign, zero included, but no
 * two elements of C may share bytes. */
RM_API rm_status rm_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                       const float *b, ptrdiff_t row_b, ptrdiff_t col_b, const float *bias,
                                       ptrdiff_t stride_bias, float *c, ptrdiff_t row_c, ptrdiff_t col_c);
RM_API rm_status rm_matmul_strided_f64(int64_t m, int64_t n, int64_t k, const double *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                       const double *b, ptrdiff_t row_b, ptrdiff_t col_b, const double *bias,
                                       ptrdiff_t stride_bias, double *c, ptrdiff_t row_c, ptrdiff_t col_c);

/* Computes `batch` such products over views. Each operand lies next_... bytes after the one before (0: all products share
 * it). a, b and bias have the format `format` (RM_FORMAT_...). c has format_out, which is the same format, or RM_FORMAT_F32
 * for 16-bit operands. The bytes that one result spans must not overlap another result or an operand. */
RM_API rm_status rm_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k, const void *a,
                                   ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                                   ptrdiff_t row_b, ptrdiff_t col_b, const void *bias, ptrdiff_t next_bias,
                                   ptrdiff_t stride_bias, void *c, ptrdiff_t next_c, ptrdiff_t row_c, ptrdiff_t col_c);

/* An accumulator is an exact sum in fixed point, which can be fed, merged and rounded in any order. It holds at least 2^60
 * terms, each as large as the largest product of two binary64 numbers. Only one thread at a time may use an accumulator;
 * since merging is exact, associative and commutative, each thread may have its own. */
typedef struct rm_accumulator rm_accumulator;
RM_API rm_accumulator *rm_accumulator_new(void); /* an empty sum; NULL if there is no memory */
RM_API void rm_accumulator_free(rm_accumulator *acc);

/* Adds the terms x[i]. If the total would not fit, these functions and those for products leave acc as it was and return
 * RM_ERR_RANGE. */
RM_API rm_status rm_accumulator_add_f16(rm_accumulator *acc, int64_t n, const rm_f16 *x, ptrdiff_t stride_x);
RM_API rm_status rm_accumulator_add_bf16(rm_accumulator *acc, int64_t n, const rm_bf16 *x, ptrdiff_t stride_x);
RM_API rm_status rm_accumulator_add_f32(rm_accumulator *acc, int64_t n, const float *x, ptrdiff_t stride_x);
RM_API rm_status rm_accumulator_add_f64(rm_accumulator *acc, int64_t n, const double *x, ptrdiff_t stride_x);

/* Adds the terms x[i] y[i]. */
RM_API rm_status rm_accumulator_add_products_f16(rm_accumulator *acc, int64_t n, const rm_f16 *x, ptrdiff_t stride_x,
                                                 const rm_f16 *y, ptrdiff_t stride_y);
RM_API rm_status rm_accumulator_add_products_bf16(rm_accumulator *acc, int64_t n, const rm_bf16 *x, ptrdiff_t stride_x,
                                                  const rm_bf16 *y, ptrdiff_t stride_y);
RM_API rm_status rm_accumulator_add_products_f32(rm_accumulator *acc, int64_t n, const float *x, ptrdiff_t stride_x,
                                                 const float *y, ptrdiff_t stride_y);
RM_API rm_status rm_accumulator_add_products_f64(rm_accumulator *acc, int64_t n, const double *x, ptrdiff_t stride_x,
                                                 const double *y, ptrdiff_t stride_y);

/* rm_accumulator_merge adds `from` to `into`; rm_accumulator_subtract subtracts it, and counts its infinities with the other
 * sign. `from` may be `into`. If the total would not fit, `into` stays as it was and the status is RM_ERR_RANGE. */
RM_API rm_status rm_accumulator_merge(rm_accumulator *into, const rm_accumulator *from);
RM_API rm_status rm_accumulator_subtract(rm_accumulator *into, const rm_accumulator *from);

/* *out = RN(total), or the total under a rounding mode (RM_ROUND_...). An exact zero is +0. */
RM_API rm_status rm_accumulator_round_f16(const rm_accumulator *acc, rm_f16 *out);
RM_API rm_status rm_accumulator_round_bf16(const rm_accumulator *acc, rm_bf16 *out);
RM_API rm_status rm_accumulator_round_f32(const rm_accumulator *acc, float *out);
RM_API rm_status rm_accumulator_round_f64(const rm_accumulator *acc, double *out);
RM_API rm_status rm_accumulator_rounded_f16(const rm_accumulator *acc, rm_f16 *out, int rounding);
RM_API rm_status rm_accumulator_rounded_bf16(const rm_accumulator *acc, rm_bf16 *out, int rounding);
RM_API rm_status rm_accumulator_rounded_f32(const rm_accumulator *acc, float *out, int rounding);
RM_API rm_status rm_accumulator_rounded_f64(const rm_accumulator *acc, double *out, int rounding);

/* Write and read the total as a byte string, for files and other machines. The same finite total has the same bytes on every
 * machine, whatever its terms and their order were. size must be RM_ACCUMULATOR_BYTES. Reading replaces the total. If the
 * bytes are not a string that this version reads, acc stays as it was and the status is RM_ERR_DATA. */
enum { RM_ACCUMULATOR_BYTES = 544 };
RM_API rm_status rm_accumulator_write(const rm_accumulator *acc, unsigned char *bytes, size_t size);
RM_API rm_status rm_accumulator_read(rm_accumulator *acc, const unsigned char *bytes, size_t size);

/* How many elements of this process's reductions each tier has decided so far. */
typedef struct {
  uint64_t fast, double_double, accumulator;
} rm_reduction_stats;
RM_API void rm_get_reduction_stats(rm_reduction_stats *out);
RM_API void rm_reset_reduction_stats(void);

#ifdef __cplusplus
}
#endif
#endif
