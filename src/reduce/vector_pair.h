/* Vectors of numbers in two parts. */
#ifndef RM_REDUCE_VECTOR_PAIR_H
#define RM_REDUCE_VECTOR_PAIR_H

#include "../../crlibm/simd/simd.h"

typedef struct {
  vf64 hi, lo;
} rm_vpair;

RM_FN rm_vpair rm_vtwo_sum(vf64 a, vf64 b) {
  vf64 s = vf64_add(a, b), t = vf64_sub(s, a);
  return (rm_vpair){s, vf64_add(vf64_sub(a, vf64_sub(s, t)), vf64_sub(b, t))};
}

#endif
