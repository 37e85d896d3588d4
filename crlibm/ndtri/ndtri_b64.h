/* ndtri(p), the inverse of Phi, for f32 and the 16-bit formats, evaluated in binary64.
 *
 * ndtri(p) = sqrt(2) erfinv(u), u = 2 p - 1, 1 - |u| = 2 min(p, 1 - p). p - (1 - p) = u is exact or rounds once where it
 * is not small; 1 - p is exact for p >= 1/2. The product u sqrt(2) is the factor for which erfinv_b64.h has room. */
#pragma once

#include "../erfinv/erfinv_b64.h"

#define RM_NDTRI_B64_ERR RM_ERFINV_B64_ERR

/* u and v = 1 - |u| for 0 < p < 1: v is exact, u for 1/4 <= p <= 3/4, that is |u| <= 1/2; elsewhere it is within 2^-53. */
RM_FN void rm_ndtri_parts(vf64 p, vf64 *u, vf64 *v) {
  const vf64 q = vf64_min(p, vf64_sub(vf64_set1(1.0), p));
  *u = vf64_sub(vf64_add(p, p), vf64_set1(1.0));
  *v = vf64_add(q, q);
}

RM_FN vf64 rm_ndtri_eval(vf64 p) {
  vf64 u, v;
  rm_ndtri_parts(p, &u, &v);
  return rm_erfinv_of(vf64_mul(u, vf64_set1(RM_ERFINV_SQRT2)), v);
}
