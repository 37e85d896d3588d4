/* A matrix product over views. */
#ifndef RM_BLAS_VIEWS_H
#define RM_BLAS_VIEWS_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/repmath/core.h"
#include "../reduce/overlap.h"

/* C = RN(A B + bias): a is m x k, b is k x n, c is m x n; bias may have base NULL; only bias.col is used. */
typedef struct {
  int64_t m, n, k;
  rm_view a, b, bias, c;
} rm_matmul_problem;

/* Argument checks of the two calling forms. They fill the problem; RM_OK, or the first argument at fault. */
rm_status rm_check_dense(rm_matmul_problem *p, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                         const void *a, int64_t lda, const void *b, int64_t ldb, const void *bias, void *c, int64_t ldc,
                         int size);
rm_status rm_check_strided(const rm_matmul_problem *p, int size);

#endif
