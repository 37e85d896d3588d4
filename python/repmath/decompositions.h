/* The rotations and reflections of _decompositions.py, one matrix after the other: the same steps of binary64, and the same
 * sums of products, each exact and rounded once. Arrays are dense. They return a status. */
#pragma once

#include <stdint.h>

/* Pairs of a sweep: `rounds` of `half` pairs that have no member in common. There are at most so many sweeps, and no rotation
 * of rows as short as `least`. */
typedef struct {
  int64_t rounds, half;
  const int64_t *pair; /* (rounds, half, 2) */
  int most;
  double least;
} rm_py_sweep;

/* A matrix whose element of row i and column j is at[i row + j column]. */
typedef struct {
  double *at;
  int64_t row, column;
} rm_py_matrix;

/* Rotates the n rows of m elements of `columns` until every two are orthogonal, and the n rows of v, which may be NULL.
 * work: n numbers. */
int rm_py_orthogonal_rows(const rm_py_sweep *sweep, int64_t n, int64_t m, double *columns, double *v, double *work);

/* Rotates the symmetric matrix a of n rows until it is diagonal, and the rows of v, which may be NULL. work: 2 n numbers for
 * each pair of a round. */
void rm_py_diagonal(const rm_py_sweep *sweep, int64_t n, double *a, double *v, double *work);

/* Reflections that make the m rows of n elements of a triangular, laid out as LAPACK's geqrf does. work: m + n numbers. */
int rm_py_reflectors(int64_t m, int64_t n, double *a, double *taus, double *work);

/* The product of `count` reflections of a, m rows of n, or its transpose, times c, m rows of k. work: m + k numbers. */
int rm_py_reflected(int64_t m, int64_t n, const double *a, int64_t count, const double *taus, int transposed, int64_t k,
                    double *c, double *work);

/* Eigenvalues, ascending, and vectors, a column each, which may be NULL, of the symmetric matrix whose lower triangle is that
 * of a. work: rm_py_eigh_numbers(n) numbers. */
int64_t rm_py_eigh_numbers(int64_t n);
void rm_py_eigh(const rm_py_sweep *sweep, int64_t n, const double *a, double *values, double *vectors, double *work);

/* Singular values, descending, of m >= n rows of n elements, and `wanted` columns of U, none, n or m, and V
 * unless it is none. work: rm_py_svd_numbers(m, n, wanted) numbers. */
int64_t rm_py_svd_numbers(int64_t m, int64_t n, int64_t wanted);
int rm_py_svd(const rm_py_sweep *sweep, int64_t m, int64_t n, const rm_py_matrix *a, double *s, int64_t wanted,
              const rm_py_matrix *u, const rm_py_matrix *v, double *work);

/* `columns` columns of Q, which may be NULL, and rows of R, of m rows of n elements that are replaced by their reflectors.
 * work: m and the larger of n and columns. */
int rm_py_qr(int64_t m, int64_t n, double *factors, int64_t columns, double *q, double *r, double *taus, double *work);
