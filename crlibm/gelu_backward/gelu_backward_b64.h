/* gelu_backward(g, x) = g gelu'(x) for f32 and the 16-bit formats, evaluated in binary64.
 *
 * gelu'(x) = Phi(x) + x phi(x); with a = |x|, cut to 19.75, gelu'(-a) = exp(-a^2/2) D(a), gelu'(a) = 1 - gelu'(-a), D(a) =
 * W(a/sqrt 2)/2 - a/sqrt(2 pi). D on 16 intervals, the quarters of the octaves of 1 + 15 a/19.75, a polynomial of degree 9 in
 * a - c, coefficients and c by table. D vanishes at 0.7518; that number is the c of its interval, so D keeps its relative
 * accuracy. Beyond the cut, 2^128 |gelu'(-a)| < 2^-150: any number below that will do; and 1 - gelu'(-a) is 1 to all of
 * binary64.
 *
 * Relative error of gelu'(-a):
 *   D     2^-42.08 (rm_gelu_slope_p32)
 *   sum   a - c is exact near the zero (Sterbenz), else it rounds by 2^-53; Horner's and Estrin's roundings, at most 12 of
 *         2^-53 (9 with FMA) times the sum of all terms, which is at most 6 |D|: 2^-46.8; with that of t, nine times as much,
 *         2^-46
 *   exp   a^2/2 is exact unless cut; below 2^-44.5 for arguments up to 200 (z in sigmoid_b64.h)
 * Sum below 2^-41.7. gelu'(a) >= 1/2 has |gelu'(-a)| <= 1/2 times that, and a rounding; the product one more. */
#pragma once

#include "../exp/exp_b64.h"
#include "gelu_backward_tables.h"

#define RM_GELU_BACKWARD_B64_ERR RM_BOUND(0x1p-41)

RM_FN vf64 rm_gelu_backward_eval(vf64 g, vf64 x) {
  const vf64 one = vf64_set1(1.0);
  vf64 a = vf64_min(vf64_set1(RM_GELU_SLOPE_MAX32), vf64_abs(x));
  vi64 j = vi64_srl(vf64_bits(vf64_mad(a, vf64_set1(RM_GELU_SLOPE_SCALE32), one)), 50);
  vf64 t = vf64_sub(a, vf64_lookup16(rm_gelu_slope_c32, j)), t2 = vf64_mul(t, t), t4 = vf64_mul(t2, t2);
#define RM_C(n) vf64_lookup16(rm_gelu_slope_p32 + 16 * (n), j)
  vf64 p01 = vf64_mad(t, RM_C(1), RM_C(0)), p23 = vf64_mad(t, RM_C(3), RM_C(2));
  vf64 p45 = vf64_mad(t, RM_C(5), RM_C(4)), p67 = vf64_mad(t, RM_C(7), RM_C(6)), p89 = vf64_mad(t, RM_C(9), RM_C(8));
#undef RM_C
  vf64 p49 = vf64_mad(t4, p89, vf64_mad(t2, p67, p45));
  vf64 d = vf64_mad(t4, p49, vf64_mad(t2, p23, p01));
  vf64 f = vf64_mul(rm_exp_eval(vf64_mul(vf64_mul(a, vf64_set1(-0.5)), a)), d);
  return vf64_mul(g, vf64_select(vf64_lt(x, vf64_set1(0.0)), f, vf64_sub(one, f)));
}
