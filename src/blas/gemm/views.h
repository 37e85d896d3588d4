/* Matrices as views, and the problem that the engines solve. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../../crlibm/fp/bits.h"
#include "../../../include/repmath/core.h"
#include "../../common/overlap.h"
#include "../../common/rounding_words.h"

/* The im2col view of an image, so that a convolution is an implicit GEMM: its matrix of patches is never in memory.
 *
 * The view's rows and its index k are grids of up to four dimensions. A dimension moves the address by `stride` bytes and
 * coordinate `dim` by `step`. Element (row, k) exists where each coordinate, start + that of the row + that of k,
 * lies in [0, size); elsewhere it is padding, which adds no product. */
enum { RM_DIMS = 4, RM_COORDINATES = 3, RM_NO_COORDINATE = -1 };

typedef struct {
  int64_t count[RM_DIMS]; /* index = ((i0 count[1] + i1) count[2] + i2) count[3] + i3 */
  ptrdiff_t stride[RM_DIMS];
  int64_t step[RM_DIMS]; /* not 0 where count > 1 and dim is a coordinate */
  int dim[RM_DIMS];
} rm_axis;

typedef struct {
  rm_axis rows, k;
  int64_t start[RM_COORDINATES], size[RM_COORDINATES];
  int rows_adjacent; /* neighbours in memory have neighbouring rows, not neighbouring k */
} rm_im2col;

/* One side of a product, A or the transpose of B, whose rows have k elements: a row of B's transpose is a column of B. */
typedef struct {
  const char *base;
  ptrdiff_t row_stride, k_stride; /* bytes from row to row and from k to k + 1; not used with im2col */
  const rm_im2col *im2col; /* or NULL */
} rm_operand;

/* Where the result goes: by strides, or by an axis for rows and one for columns (their coordinates do not count). */
typedef struct {
  char *base;
  ptrdiff_t row, col;
  const rm_axis *rows, *cols; /* or NULL */
} rm_target;

/* The general form RN(alpha A B + beta C): beta 0 leaves C unread. */
typedef struct {
  double alpha, beta;
} rm_alpha_beta;

/* Whether x is a zero, by its bits: a caller's environment may take subnormal numbers for zeros. */
RM_FN int rm_is_zero(double x) { return rm_bits64(x) << 1 == 0; }

/* Of a product whose sums are not rounded: where the squares of the factors of their bounds go (partials_b64.h), and how many
 * additions a sum passes when it is joined with those of other parts. */
typedef struct {
  double *rows, *cols; /* rows NULL: sums are rounded */
  double joins;
} rm_partial_bounds;

/* C = RN(A B + bias), A of m x k, B of k x n in the format fmt, C in out_fmt, which is fmt or binary32; bias, of fmt, may
 * have base NULL. As many such products as batch says, each operand the given bytes apart. */
typedef struct {
  int64_t m, n, k;
  rm_operand a, b;
  rm_view bias;
  rm_target c;
  int fmt, out_fmt;
  int64_t batch;
  ptrdiff_t next_a, next_b, next_bias, next_c;
  const rm_alpha_beta *alpha_beta; /* NULL: none. With it there is no bias */
  /* mode 0: to nearest. Else an element of C is rounded by the word of its place in memory, random.first at `origin`, and
   * formats are below binary64 */
  rm_random_rounding random;
  const char *origin;
  rm_partial_bounds partial; /* then out_fmt is binary64, and there is no bias */
} rm_matmul_problem;

RM_FN rm_operand rm_rows_of(rm_view v) { return (rm_operand){v.base, v.row, v.col, 0}; }
RM_FN rm_operand rm_columns_of(rm_view v) { return (rm_operand){v.base, v.col, v.row, 0}; }

/* A problem without sizes or operands, of one product in this format or of a batch. */
rm_matmul_problem rm_problem_of(int format, int64_t batch);

/* The arguments of a product of dense matrices, as in rm_matmul_f32. */
typedef struct {
  int layout, trans_a, trans_b;
  int64_t m, n, k;
  const void *a;
  int64_t lda;
  const void *b;
  int64_t ldb;
  const void *bias;
  void *c;
  int64_t ldc;
} rm_dense_product;

/* Argument checks of the calling forms. They fill the problem, and return RM_OK or the first argument at fault.
 * rm_check_dense is for p of rm_problem_of; rm_check_gemm fills all of p, and *alpha_beta must outlive it; rm_check_strided
 * is for rm_matmul_batched, after rm_check_batch has filled what comes before the sizes, and with RM_NO_BATCH for the form
 * without a batch. */
enum { RM_NO_BATCH = -1 };
rm_status rm_check_dense(rm_matmul_problem *p, const rm_dense_product *d);
rm_status rm_check_gemm(rm_matmul_problem *p, const rm_alpha_beta *alpha_beta, int format, const rm_dense_product *d);
rm_status rm_check_batch(rm_matmul_problem *p, int format, int format_out, int64_t batch, ptrdiff_t next_a, ptrdiff_t next_b,
                         ptrdiff_t next_bias, ptrdiff_t next_c);
rm_status rm_check_strided(rm_matmul_problem *p, int64_t m, int64_t n, int64_t k, rm_view a, rm_view b, rm_view bias,
                           rm_view c);
/* For rm_random_matmul_batched: first what comes before the operands, with r, then these (a, b, bias). */
rm_status rm_check_random(rm_matmul_problem *p, int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k,
                          const rm_random_rounding *r);
rm_status rm_check_random_operands(rm_matmul_problem *p, const rm_random_operand *const *operands, const ptrdiff_t *next,
                                   void *c);
