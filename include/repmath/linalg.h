/* repmath: linear algebra. Factorizations are defined by recurrences whose every entry is one exact sum, rounded once;
 * solutions, inverses and determinants are the exact ones, rounded once (spec.md, section 7). */
#ifndef REPMATH_LINALG_H
#define REPMATH_LINALG_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* format is RM_FORMAT_F32 or RM_FORMAT_F64. An input is a batch of matrices: matrix t begins at a + t next_a, its element (i,
 * j) lies at + i row_a + j col_a, all in BYTES, of any sign, zero included. Results are contiguous, row-major, a matrix after
 * the other, and must not overlap an input. info has one number for each matrix, as LAPACK's: 0, or the place, counted from
 * 1, at which it failed. */

/* Cholesky: A = L L^T from the lower triangle of A, in the order of rows,
 *   l_ij = RN((a_ij - sum over k < j of l_ik l_jk)/l_jj),   l_ii = RN(root of (a_ii - sum over k < i of l_ik^2)).
 * The upper triangle of L is +0. info: the first i where l_ii would not be positive; from that row on the lower triangle is
 * NaN. */
RM_API rm_status rm_cholesky(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                             ptrdiff_t col_a, void *l, int32_t *info);

/* LU with partial pivoting of m x n matrices: P A = L U, where L has a unit diagonal. With A's rows exchanged so far, in step
 * j
 *   c_i = RN(a_ij - sum over k < j of l_ik u_kj) for i >= j; the first row of the largest |c_i| (a NaN is larger than all) is
 *   exchanged with row j, u_jj is its c; l_ij = RN((a_ij - the same sum)/u_jj) for i > j; u_jc = RN(a_jc - sum over k < j of
 *   l_jk u_kc) for c > j.
 * lu is m x n: L below the diagonal, U on and above it. pivots: min(m, n) for each matrix; row j was exchanged with row
 * pivots[j] - 1. info: the first j where u_jj is 0; l_ij is c_i there. */
RM_API rm_status rm_lu_factor(int format, int64_t batch, int64_t m, int64_t n, const void *a, ptrdiff_t next_a,
                              ptrdiff_t row_a, ptrdiff_t col_a, void *lu, int32_t *pivots, int32_t *info);

/* X = RN(A^-1 B) for n x n matrices A and n x k matrices B: every element of the exact solution, rounded once. Where A has an
 * infinity or a NaN, X is NaN; so is a column of X where that of B has one. info: the first column of A that depends on those
 * before it, exactly: A is singular, and X is NaN. b NULL stands for the identity, so that X is the inverse (k = n). */
RM_API rm_status rm_solve(int format, int64_t batch, int64_t n, int64_t k, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                          ptrdiff_t col_a, const void *b, ptrdiff_t next_b, ptrdiff_t row_b, ptrdiff_t col_b, void *x,
                          int32_t *info);

/* The same of one triangle of A, which alone is read: the lower one, or with upper = 1 the other. unit = 1: its diagonal
 * counts as 1 and is not read. info: the first 0 on the diagonal. */
RM_API rm_status rm_solve_triangular(int format, int upper, int unit, int64_t batch, int64_t n, int64_t k, const void *a,
                                     ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                                     ptrdiff_t row_b, ptrdiff_t col_b, void *x, int32_t *info);

/* det = RN(det A), one for each matrix; NaN where A is not finite, 1 for n = 0. */
RM_API rm_status rm_det(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                        ptrdiff_t col_a, void *det);

/* sign = -1, 0 or 1, that of det A, and log_size = RN(log |det A|): -inf for a singular matrix. Both are NaN where A is not
 * finite. */
RM_API rm_status rm_slogdet(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                            ptrdiff_t col_a, void *sign, void *log_size);

/* The last five functions return RM_ERR_UNDECIDED where exact integers would take too long (some 2^39 multiplications for a
 * matrix); its undecided elements are NaN. */

#ifdef __cplusplus
}
#endif
#endif
