/* erfc for f32 and the 16-bit formats, evaluated in binary64; the core of gelu as well.
 *
 * erfc a = exp(-a^2) W(a) for a = |x|, cut to 9.3; erfc x = 2 - erfc a for x < 0. W(a) = exp(a^2) erfc(a) is smooth and falls
 * like 1/(1 + a): its 16 intervals are the quarters of the octaves of b = 1 + a/(5/8), 1 <= b < 16, a polynomial of degree 9
 * in t = b - (centre) on each, coefficients by table. Beyond 9.3 every f32 or 16-bit result is subnormal or zero for x > 0,
 * and 2 for x < 0.
 *
 * Relative error of erfc a:
 *   W     2^-40.24 (rm_erfcx_p32)
 *   b     the constant 2^-54, the product without FMA and the sum, 2^-51.8 b: |W'/W| (a + 5/8) < 1.1 times that, 2^-51.6; t =
 *         b - m is exact
 *   sum   Horner's and Estrin's roundings: terms alternate, sum |c_n t^n| < 1.5 W; at most 12 each (9 with FMA): 2^-48.8
 *   exp   a^2 is exact (24 bits squared, unless cut). exp_b64.h's bound, whose parts that come from the reduction grow with
 *         the argument: below 2^-44 for arguments up to 200
 * Sum below 2^-40.1. 2 - erfc a, at least 1, adds 2^-53. */
#pragma once

#include "../exp/exp_b64.h"
#include "../simd/quarters.h"
#include "erfc_tables.h"

#define RM_ERFC_B64_ERR RM_BOUND(0x1p-40)

/* W(a) within 2^-40.2, for b = 1 + a/(5/8) < 16 within 2^-51.8 b. */
RM_FN vf64 rm_erfc_w_eval(vf64 b) {
  vi64 j;
  vf64 t = vf64_in_quarter(b, &j), t2 = vf64_mul(t, t), t4 = vf64_mul(t2, t2);
#define RM_C(n) vf64_lookup16(rm_erfcx_p32 + 16 * (n), j)
  vf64 p01 = vf64_mad(t, RM_C(1), RM_C(0)), p23 = vf64_mad(t, RM_C(3), RM_C(2));
  vf64 p45 = vf64_mad(t, RM_C(5), RM_C(4)), p67 = vf64_mad(t, RM_C(7), RM_C(6)), p89 = vf64_mad(t, RM_C(9), RM_C(8));
#undef RM_C
  vf64 p49 = vf64_mad(t4, p89, vf64_mad(t2, p67, p45));
  return vf64_mad(t4, p49, vf64_mad(t2, p23, p01));
}

RM_FN vf64 rm_erfc_eval(vf64 x) {
  vf64 a = vf64_min(vf64_set1(9.3), vf64_abs(x));
  vf64 w = rm_erfc_w_eval(vf64_mad(a, vf64_set1(RM_ERFCX_SCALE32), vf64_set1(1.0)));
  vf64 v = vf64_mul(rm_exp_eval(vf64_neg(vf64_mul(a, a))), w);
  return vf64_select(vf64_lt(x, vf64_set1(0.0)), vf64_sub(vf64_set1(2.0), v), v);
}
