/* Vectors of numbers in two parts. */
#pragma once

#include "../../crlibm/simd/simd.h"

typedef struct {
  vf64 hi, lo;
} rm_vpair;

RM_FN rm_vpair rm_vpair_two_sum(vf64 a, vf64 b) {
  rm_vpair r;
  r.hi = vf64_two_sum(a, b, &r.lo);
  return r;
}
