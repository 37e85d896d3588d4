/* tanh in binary32 (simd/b32.h), by piecewise polynomials (simd/piecewise.h): 32 intervals of |x| + 17/16 - 2^-20 by its
 * exponent and three more bits, the first around 0. |x| is cut to 9.4: beyond 9.02, 1 - tanh x < 2^-25 and the result is 1.
 * tools/piecewise.py bounds the errors. t is exact: |x| and its centre are within a factor of two of each other, or the
 * centre is 0. For tiny x, where low parts underflow, hi = |x| is the result: x - tanh x < x^3/3. */
#pragma once

#include "../simd/piecewise.h"
#include "tanh_b32_tables.h"

#define RM_B32_tanh RM_B32_FULL

#if RM_B32

RM_FN vf32 rm_tanh_b32_reduce(vf32 a, vi32 *j) {
  *j = vi32_srl(vf32_bits(vf32_add(a, vf32_set1(RM_TANH_B32_SHIFT))), 20);
  return vf32_sub(a, vf32_lookup32(rm_tanh_b32_centre, *j));
}

RM_FN vm32 rm_tanh_b32(vf32 x, vf32 *y) {
  vi32 j;
  vf32 a = vf32_min(vf32_set1(9.4f), vf32_abs(x)), t = rm_tanh_b32_reduce(a, &j), hi, lo;
  rm_piecewise(rm_tanh_b32_rows, RM_TANH_B32_DEGREE, j, t, &hi, &lo);
  vf32 err = vf32_mul(a, vf32_mul(vf32_lookup32(rm_tanh_b32_err, j), vf32_set1(RM_BOUND(1.0f))));
  vm32 undecided = vf32_undecided_by(hi, lo, err, y);
  *y = vf32_copysign(*y, x);
  return undecided;
}

#endif
