/* cospi for f32 and the 16-bit formats, evaluated in binary64: cos(pi x) = (-1)^k sin(pi (1/2 - |r|)), |x| = k + r as in
 * sinpi_b64.h.
 *
 * 1/2 - |r| is exact from |r| = 2^-30 on, as r is a multiple of 2^-53 then; for smaller r it is rounded by 2^-54, and the
 * sine, near its maximum, changes by less than 2^-80. The error is that of sinpi_b64.h. */
#pragma once

#include "../sinpi/sinpi_b64.h"

#define RM_COSPI_B64_ERR RM_SINPI_B64_ERR

RM_FN vf64 rm_cospi_eval(vf64 x) {
  vi64 k;
  const vf64 r = rm_sinpi_rest(vf64_abs(x), 0x1.8p52, &k), d = vf64_sub(vf64_set1(0.5), vf64_abs(r));
  const vf64 v = rm_sin_polynomial(vf64_mul(d, vf64_set1(RM_SIN_PI)));
  return vf64_add(rm_sin_flip(v, vi64_sll(k, 63)), vf64_set1(0.0)); /* cosPi(n + 1/2) is +0 */
}
