/* erf in binary32 (simd/b32.h), by piecewise polynomials (simd/piecewise.h) around the multiples of 1/8, |t| <= 1/16. |x| is
 * cut to 3.93: beyond 3.92, 1 - erf x < 2^-25 and the result is 1. tools/piecewise.py bounds the errors. t is exact: |x| and
 * its centre are within a factor of two of each other, or the centre is 0. */
#pragma once

#include "../simd/piecewise.h"
#include "erf_b32_tables.h"

#define RM_B32_erf RM_B32_FULL

#if RM_B32

RM_FN vf32 rm_erf_b32_reduce(vf32 a, vi32 *j) {
  const vf32 magic = vf32_set1(0x1.8p20f); /* the low bits of a + magic hold the multiple of 1/8 nearest to a */
  vf32 z = vf32_add(a, magic);
  *j = vf32_bits(z);
  return vf32_sub(a, vf32_sub(z, magic));
}

/* Tiny x is left to binary64: below 2^-100 products of the low parts would underflow. */
RM_FN vm32 rm_erf_b32(vf32 x, vf32 *y) {
  vi32 j;
  vf32 a = vf32_min(vf32_set1(3.93f), vf32_abs(x)), t = rm_erf_b32_reduce(a, &j), hi, lo;
  rm_piecewise(rm_erf_b32_rows, RM_ERF_B32_DEGREE, j, t, &hi, &lo);
  vf32 err = vf32_mul(a, vf32_mul(vf32_lookup32(rm_erf_b32_err, j), vf32_set1(RM_BOUND(1.0f))));
  vm32 undecided = vf32_undecided_by(hi, lo, err, y);
  *y = vf32_copysign(*y, x);
  const int32_t min = (127 - 100) << 23;
  return vm32_or(undecided, vi32_ltu(vi32_sub(vf32_bits(a), vi32_set1(1)), vi32_set1(min - 1)));
}

#endif
