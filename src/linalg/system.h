/* Systems of equations, whose solutions are rational numbers, each rounded once. */
#pragma once

#include "matrix.h"

enum { RM_LINALG_FULL, RM_LINALG_LOWER, RM_LINALG_UPPER }; /* what is read of A */

/* A X = B for a batch; A is n x n, B n x k. b.base NULL: the identity. */
typedef struct {
  rm_batch a, b;
  int64_t n, k;
  int shape, unit;
  char *x;       /* contiguous, a matrix after the other */
  int32_t *info; /* one each */
} rm_linear_system;

rm_status rm_solve_system(const rm_linear_system *s, int64_t t, uint32_t *flags);
