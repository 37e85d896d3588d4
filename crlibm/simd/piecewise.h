/* A function by 32 polynomials in binary32, one for each interval: f(c_j + t) = F + t (G + t c_2) + t^3 (c_3 + t c_4 + ...).
 *
 * F and G have two parts, and G + t c_2 and F + t (...) are kept in two, so that the error is one of the cubic term's, about
 * 2^-23 |t^3 c_3|, and of the rounding of c_2, 2^-25 t^2 |c_2|. tools/piecewise.py makes the tables and adds up the errors of
 * all operations, interval by interval. */
#pragma once

#include "b32.h"

#if RM_B32

/* hi + lo = f(c_j + t), j in the low five bits of each lane. The rows of 32 are F, F_low, G, G_low, c_2 ... c_degree. */
RM_FN void rm_piecewise(const float *rows, int degree, vi32 j, vf32 t, vf32 *hi, vf32 *lo) {
#define RM_ROW_OF(n) vf32_lookup32(rows + 32 * (n), j)
  vf32 f = RM_ROW_OF(0), g = RM_ROW_OF(2), c2 = RM_ROW_OF(4), v = RM_ROW_OF(degree + 2);
  RM_UNROLL for (int n = degree - 1; n >= 3; n--) v = vf32_fma(t, v, RM_ROW_OF(n + 2));
  vf32 s = vf32_fma(t, c2, g);
  vf32 e = vf32_fma(t, c2, vf32_sub(g, s));
  e = vf32_add(e, vf32_fma(vf32_mul(t, t), v, RM_ROW_OF(3)));
  *hi = vf32_fma(t, s, f);
  *lo = vf32_add(vf32_fma(t, s, vf32_sub(f, *hi)), vf32_fma(t, e, RM_ROW_OF(1)));
#undef RM_ROW_OF
}

#endif
