/* Approximations in binary64, of which only bounds that are found afterwards say how good they are. Matrices are contiguous
 * and row-major. */
#pragma once

#include "matrix.h"

/* a = L U of its rows in the order place[]: place[i] is the row that became row i. *odd: whether that is an odd permutation.
 * 0 where a pivot is 0 or not finite. */
int rm_approximate_lu(int64_t n, double *a, int64_t *place, int *odd);

/* x = T^-1 x for the lower or upper triangle of t; x is n x k. unit: the diagonal counts as 1. */
void rm_approximate_lower(int64_t n, int64_t k, const double *t, int unit, double *x);
void rm_approximate_upper(int64_t n, int64_t k, const double *t, int unit, double *x);
