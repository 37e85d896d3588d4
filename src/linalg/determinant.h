/* Determinants, and their logarithms, rounded once. */
#pragma once

#include "matrix.h"

typedef struct {
  rm_batch a;
  int64_t n;
  char *det;       /* the determinant, or its sign where log is not NULL */
  char *log;       /* log of its magnitude */
} rm_determinants;

rm_status rm_determinant_of(const rm_determinants *d, int64_t t, uint32_t *flags);
