/* Exact sums of rows as device code. */
#ifndef RM_CUDA_ROW_SUMS_H
#define RM_CUDA_ROW_SUMS_H

#include "../reduce/chains.h"
#include "../reduce/exact.h"
#include "../reduce/sum_parts.h"

#include "../reduce/superaccumulator.c"

#include "../reduce/exact.c"

RM_SHARED void rm_sum_exactly(const rm_sum_problem *p, rm_superaccumulator *acc) {
  rm_superacc_clear(acc);
  if (p->y.base)
    rm_superacc_add_products(acc, p->fmt, p->n, p->x.base, p->x.stride, p->y.base, p->y.stride);
  else
    rm_superacc_add_array(acc, p->fmt, p->n, p->x.base, p->x.stride);
}

#endif
