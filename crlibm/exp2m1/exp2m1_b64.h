/* exp2m1 and exp10m1 for f32 and the 16-bit formats, evaluated in binary64.
 *
 * E = b^x - 1 = s d Q(d) + (s - 1), with k, d, Q and s = 2^(k/16) as in exp_b64.h. x is cut where b^x is below 2^-60: every
 * f32 or 16-bit result is -1 there.
 *
 * Relative error, b^x <= 2^128. With k = 0 it is d Q(d): 2^-45.66 of a unit of d, which is ln2/16 of the result, 2^-41.13.
 * Otherwise |x| log2(b) >= 1/32, and with m = max(1, b^x): |E|/m >= 0.0214; s <= 1.022 m:
 *   Q        2^-45.66 |d| s / |E| <= 2^-41.08
 *   d        16 log2(10) and, without FMA, its product with x: 2^-52.4 of |x| ln10, times |x| ln10 b^x/|E| <= |x| ln10 + 1:
 *            below 2^-45.9 (nothing for exp2m1); 2^-52.4 where k = 0
 *   s, s - 1 2^-53 each times 1.022, over 0.0214: 2^-46.4
 *   the rest Q's roundings, products with |d| s and the final operation: 2^-50.5
 * Sum below 2^-40.9 < RM_EXP2M1_B64_ERR. */
#pragma once

#include "../exp/exp_b64.h"

#define RM_EXP2M1_B64_ERR RM_BOUND(0x1p-40)

/* 2^(c x/16) - 1 for c = 16 and 16 log2(10), -2^10 <= c x <= 2^11; the sign of a zero is lost. */
RM_FN vf64 rm_exp2m1_sixteenths(vf64 x, double c) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(x, vf64_set1(c), magic);
  vf64 d = vf64_mad(x, vf64_set1(c), vf64_sub(magic, z));
  vf64 s = rm_exp_scale(vf64_bits(z)), d2 = vf64_mul(d, d);
  vf64 q01 = vf64_mad(d, vf64_set1(rm_exp_q32[1]), vf64_set1(rm_exp_q32[0]));
  vf64 q23 = vf64_mad(d, vf64_set1(rm_exp_q32[3]), vf64_set1(rm_exp_q32[2]));
  vf64 q = vf64_mad(d2, vf64_mad(d2, vf64_set1(rm_exp_q32[4]), q23), q01);
  return vf64_mad(vf64_mul(s, d), q, vf64_sub(s, vf64_set1(1.0)));
}

RM_FN vf64 rm_exp2m1_eval(vf64 x) { return rm_exp2m1_sixteenths(vf64_max(vf64_set1(-60.0), x), 16.0); }
