/* tan for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |x| = k pi + r, k the nearest multiple of 1/2, |r| <= pi/4 (1 + 2^-14), as in sin_b64.h; tan r = r P/Q, P and Q polynomials
 * in r^2, and tan x = +-r P/Q or -+Q/(r P).
 *
 * Error: the fit 2^-44.92; steps of P >= 0.9 and Q >= 0.7, together below 2^-51; the quotient 2^-49; an error of r, 2^-45.4
 * relatively, counts r/(sin r cos r) <= 1.58 times: 2^-44.74. Sum below 2^-43.7 < RM_TAN_B64_ERR. */
#pragma once

#include "../sin/sin_b64.h"
#include "tan_tables.h"

#define RM_TAN_B64_ERR RM_BOUND(0x1p-43)

/* tan(k pi + r), even where k is a whole number, its sign changed where the top bit of flip is set; r = 0 or |r| >= 2^-149.
 * The sign comes last: the quotient may lose that of a zero. */
RM_FN vf64 rm_tan_reduced(vf64 r, vm64 even, vi64 flip) {
  vf64 u = vf64_mul(r, r), reciprocal;
  vf64 p = vf64_mad(vf64_mad(vf64_set1(rm_tan_p32[2]), u, vf64_set1(rm_tan_p32[1])), u, vf64_set1(rm_tan_p32[0]));
  vf64 q = vf64_mad(vf64_set1(rm_tan_q32[3]), u, vf64_set1(rm_tan_q32[2]));
  q = vf64_mad(vf64_mad(q, u, vf64_set1(rm_tan_q32[1])), u, vf64_set1(rm_tan_q32[0]));
  p = vf64_mul(r, p);
  vf64 y = vf64_quotient(vf64_select(even, p, vf64_neg(q)), vf64_select(even, q, p), &reciprocal);
  return rm_sin_flip(y, flip);
}

RM_FN vf64 rm_tan_eval(vf64 x) {
  const vf64 magic = vf64_set1(0x1.8p51); /* a unit is 1/2 */
  vf64 a = vf64_abs(x), z = vf64_mad(a, vf64_set1(RM_SIN_INV_PI), magic);
  vm64 even = vi64_disjoint(vf64_bits(z), vi64_set1(1));
  return rm_tan_reduced(rm_sin_reduce(a, vf64_sub(z, magic)), even, vf64_bits(x));
}

/* The same for f32 numbers 2^18 <= |x| < 2^128: see rm_sin_chunks. */
RM_FN vf64 rm_tan_eval_large(vf64 x) {
  vi64 k;
  vf64 f = rm_sin_fraction(x, vf64_set1(0x1.8p51), &k);
  return rm_tan_reduced(vf64_mul(f, vf64_set1(RM_SIN_PI)), vi64_disjoint(k, vi64_set1(1)), vf64_bits(x));
}
