/* The rotations and reflections of _decompositions.py, one matrix after the other: the same steps of binary64, and the same
 * sums of products, each exact and rounded once. Arrays are dense. They return a status. */
#pragma once

#include <stdint.h>

/* Pairs of a sweep: `rounds` of `half` pairs that have no member in common. */
typedef struct {
  int64_t rounds, half;
  const int64_t *pair; /* (rounds, half, 2) */
} rm_py_sweep;

/* Rotates the n rows of m elements of `columns` until every two are orthogonal, and the n rows of v, which may be NULL. */
int rm_py_orthogonal_rows(const rm_py_sweep *sweep, int sweeps, double least, int64_t n, int64_t m, double *columns,
                          double *v);

/* Rotates the symmetric matrix a of n rows until it is diagonal, and the rows of v, which may be NULL. work: 2 n numbers for
 * each pair of a round. */
void rm_py_diagonal(const rm_py_sweep *sweep, int sweeps, int64_t n, double *a, double *v, double *work);

/* Reflections that make the m rows of n elements of a triangular, laid out as LAPACK's geqrf does. work: m + n numbers. */
int rm_py_reflectors(int64_t m, int64_t n, double *a, double *taus, double *work);

/* The product of `count` reflections of a, m rows of n, or its transpose, times c, m rows of k. work: m + k numbers. */
int rm_py_reflected(int64_t m, int64_t n, const double *a, int64_t count, const double *taus, int transposed, int64_t k,
                    double *c, double *work);
