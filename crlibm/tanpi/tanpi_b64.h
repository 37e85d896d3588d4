/* tanpi for f32 and the 16-bit formats, evaluated in binary64: tan's quotient of polynomials (tan_b64.h) of pi r, |x| = k +
 * r, k the nearest multiple of 1/2, |r| <= 1/4.
 *
 * Error: tan_b64.h's without that of its reduction, 2^-44.92 + 2^-51 + 2^-49; pi r is off by 2^-52 relatively, which counts
 * at most 1.58 times. Sum below 2^-44.6 < RM_TANPI_B64_ERR. */
#pragma once

#include "../sinpi/sinpi_b64.h"
#include "../tan/tan_b64.h"

#define RM_TANPI_B64_ERR RM_TAN_B64_ERR

/* Where r = 0 and k is whole, the sign is that of x for even k and the other one for odd k, as IEEE 754 has it; where k is
 * half an odd number, the divisor is 0, and those lanes are special. */
RM_FN vi64 rm_tanpi_sign(vf64 x, vi64 k, vm64 zero) {
  const vf64 odd = vf64_select(zero, vf64_from_bits(vi64_sll(k, 62)), vf64_set1(0.0));
  return vi64_xor(vf64_bits(x), vf64_bits(odd));
}

RM_FN vf64 rm_tanpi_eval(vf64 x) {
  vi64 k; /* counts halves */
  const vf64 r = rm_sinpi_rest(vf64_abs(x), 0x1.8p51, &k);
  const vi64 flip = rm_tanpi_sign(x, k, vf64_eq(r, vf64_set1(0.0)));
  return rm_tan_reduced(vf64_mul(r, vf64_set1(RM_SIN_PI)), vi64_disjoint(k, vi64_set1(1)), flip);
}
