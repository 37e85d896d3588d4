/* Factorizations by recurrence: every entry is one exact sum, divided or its root taken, and rounded once. */
#pragma once

#include "matrix.h"

/* a - sum of x[k] y[k]: contiguous elements of a format. */
typedef struct {
  int format;
  const char *a, *x, *y;
  int64_t n;
} rm_difference;

/* What an entry is of its difference: the quotient is by a number, the root is the square root. */
enum { RM_ENTRY_AS_IT_IS, RM_ENTRY_QUOTIENT, RM_ENTRY_ROOT };

/* The bits of an entry by itself. */
uint64_t rm_entry_of(const rm_difference *d, int what, double by, uint32_t *flags);

/* A = L L^T of the lower triangle of matrix t of a; l: n x n, its upper triangle becomes +0. *info as LAPACK's. */
rm_status rm_cholesky_of(const rm_batch *a, int64_t t, int64_t n, char *l, int32_t *info, uint32_t *flags);

/* P A = L U of an m x n matrix; lu: m x n, L below the diagonal; pivots counted from 1, as LAPACK's. */
rm_status rm_lu_of(const rm_batch *a, int64_t t, int64_t m, int64_t n, char *lu, int32_t *pivots, int32_t *info,
                   uint32_t *flags);

/* Either by panels (panels.c), with more memory; pivots is NULL for Cholesky. Whether it has been done: then all pivots are
 * other than 0; else `to` and pivots are of no use. */
int rm_factor_by_panels(const rm_batch *a, int64_t t, int64_t m, int64_t n, char *to, int32_t *pivots, uint32_t *flags);
