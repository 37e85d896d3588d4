/* Approximations in binary64, of which only bounds that are found afterwards say how good they are. Matrices are row-major
 * and contiguous, or have rows ld apart. */
#pragma once

#include "kernels.h"
#include "matrix.h"

/* a = L U of its rows in the order place[]: place[i] is the row that became row i. *odd: whether that is an odd permutation.
 * 0 where a pivot is 0 or not finite. */
int rm_approximate_lu(int64_t n, double *a, int64_t *place, int *odd);

/* x = T^-1 x for the lower or upper triangle of t; x is n x k. unit: the diagonal counts as 1. |T x - b| is at most the
 * share rm_approximate_unit(n) of |T| |x| + |b|: a term t_ij x_j of row i passes what one product of kernels.h counts, or 8
 * roundings where it is in none, the additions that join later products, one of each half that row i is in, fewer than 31,
 * and those of longer chains, which are counted already, and a quotient. Underflow is not counted. */
void rm_approximate_lower(int64_t n, int64_t k, const double *t, int64_t ld_t, int unit, double *x, int64_t ld_x);
void rm_approximate_upper(int64_t n, int64_t k, const double *t, int64_t ld_t, double *x, int64_t ld_x);

static inline double rm_approximate_unit(int64_t n) { return rm_linalg_plain_unit(n) + 40.0 * 0x1.03p-53; }

/* x = T^-1 as above: each column is a solution. Beyond the triangle x is 0. */
void rm_approximate_lower_inverse(int64_t n, const double *t, int unit, double *x);
void rm_approximate_upper_inverse(int64_t n, const double *t, double *x);
