/* cbrt for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |x| = 2^(3a) m, k = 16 a + j the integer nearest to 16/3 of the logarithm that the bits of |x| are (linear between powers
 * of two), c_j ~ 1/m and t_j = c_j^(-1/3) by table, r = m c_j - 1, |r| <= 0.0864: cbrt |x| = 2^a t_j P(r).
 *
 * Relative error: P 2^-45.94, over (1+r)^(1/3) >= 0.9703: 2^-45.89; the roundings of r (2^-53 without FMA; exact for the
 * formats served here), of the Estrin steps, of t_j and of the product below 2^-50. Sum below 2^-45.8 < RM_CBRT_B64_ERR. x =
 * 0 counts as 2^-1023: the result, near 2^-341, is stored as 0 in every format served here. */
#pragma once

#include "../simd/undecided.h"
#include "cbrt_tables.h"

#define RM_CBRT_B64_ERR RM_BOUND(0x1p-45)

/* x = 2^(3a) m for x >= 0 that is normal or 0; *scale = a 2^52, to be added to bits. The result is cbrt m within 2^-45.8. */
RM_FN vf64 rm_cbrt_reduced(vf64 x, vf64 *m, vi64 *scale) {
  const vf64 magic = vf64_set1(0x1.8p52 - 16.0 * 341.0); /* the low bits of a number near 2^52 are an integer; 1023 = 3 341 */
  vi64 bits = vf64_bits(x);
  vf64 l = vi64_to_f64(vi64_srl(bits, 40)); /* 2^12 times the biased logarithm */
  vi64 k = vf64_bits(vf64_mad(l, vf64_set1(0x1p-12 * 16 / 3), magic));
  vi64 a = vi64_sll(vi64_srl(k, 4), 52);
  *scale = a;
  *m = vf64_from_bits(vi64_sub(vi64_sub(bits, a), vi64_add(a, a)));
  vf64 r = vf64_mad(*m, vf64_lookup16(rm_cbrt_c, k), vf64_set1(-1.0));
  vf64 r2 = vf64_mul(r, r), r4 = vf64_mul(r2, r2);
  vf64 p01 = vf64_mad(r, vf64_set1(rm_cbrt_p[1]), vf64_set1(rm_cbrt_p[0]));
  vf64 p23 = vf64_mad(r, vf64_set1(rm_cbrt_p[3]), vf64_set1(rm_cbrt_p[2]));
  vf64 p45 = vf64_mad(r, vf64_set1(rm_cbrt_p[5]), vf64_set1(rm_cbrt_p[4]));
  vf64 p67 = vf64_mad(r, vf64_set1(rm_cbrt_p[7]), vf64_set1(rm_cbrt_p[6]));
  vf64 high = vf64_mad(r4, vf64_set1(rm_cbrt_p[8]), vf64_mad(r2, p67, p45));
  return vf64_mul(vf64_lookup16(rm_cbrt_t, k), vf64_mad(r4, high, vf64_mad(r2, p23, p01)));
}

/* Of |x|: cbrt is odd, the loop gives the sign back. */
RM_FN vf64 rm_cbrt_eval(vf64 x) {
  vf64 m;
  vi64 scale;
  vf64 u = rm_cbrt_reduced(vf64_abs(x), &m, &scale);
  return vf64_from_bits(vi64_add(vf64_bits(u), scale));
}
