/* Factorizations by recurrence: every entry is one exact sum, divided or its root taken, and rounded once. */
#pragma once

#include "matrix.h"

/* A = L L^T of the lower triangle of matrix t of a; l: n x n, its upper triangle becomes +0. *info as LAPACK's. */
rm_status rm_cholesky_of(const rm_batch *a, int64_t t, int64_t n, char *l, int32_t *info, uint32_t *flags);

/* P A = L U of an m x n matrix; lu: m x n, L below the diagonal; pivots counted from 1, as LAPACK's. */
rm_status rm_lu_of(const rm_batch *a, int64_t t, int64_t m, int64_t n, char *lu, int32_t *pivots, int32_t *info,
                   uint32_t *flags);
