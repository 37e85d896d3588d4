/* expm1 for f32 and the 16-bit formats, evaluated in binary64.
 *
 * E = e^x - 1 = s (r P(r)) + (s - 1), with k, r, P and s = 2^(k/16) as in exp: r = x - k ln2/16, rm_exp_p. x is cut to -40:
 * below, E + 1 < 2^-57 and every f32 or 16-bit result is -1.
 *
 * Relative error for x <= 90, |k| <= 2078. With k = 0 it is r P(r), off by 2^-41.13. Otherwise |x| >= ln2/32, and with
 * m = max(1, s e^r): |E|/m = 1 - e^-|x| >= 0.0214; s <= 1.022 m:
 *   P        2^-41.13 |r| s / |E| <= 2^-41.08
 *   r        k 2^-58 + (rounding of k C without FMA) 2^-53 |x|, |x| e^x/|E| <= |x| + 1: below 2^-45.7
 *   s, s - 1 2^-53 each times 1.022, over 0.0214: 2^-46.4
 *   the rest P's roundings, products with |r| s (one of them without FMA only) and the final operation: 2^-50.5
 * Sum below 2^-40.9 < RM_EXPM1_B64_ERR. */
#pragma once

#include "../exp/exp_b64.h"

#define RM_EXPM1_B64_ERR RM_BOUND(0x1p-40)

/* E for -40 <= x <= 90; the sign of a zero is lost. */
RM_FN vf64 rm_expm1_core(vf64 x) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(x, vf64_set1(RM_EXP_INV_STEP), magic);
  vf64 r = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_EXP_STEP), x);
  vf64 s = rm_exp_scale(vf64_bits(z));
  return vf64_mad(vf64_mul(s, r), rm_exp_p(r), vf64_sub(s, vf64_set1(1.0)));
}

RM_FN vf64 rm_expm1_eval(vf64 x) { return rm_expm1_core(vf64_max(vf64_set1(-40.0), x)); }
