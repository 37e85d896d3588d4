/* tanh for f32 and the 16-bit formats, evaluated in binary64.
 *
 * tanh |x| = E / (E + 2), E = e^(2|x|) - 1 = s (r P(r)) + (s - 1), with k, r, P and s = 2^(k/16) >= 1 as in exp_f32.h. |x| is
 * cut to 20: beyond, 1 - |tanh x| < 2^-56 and every f32 or 16-bit result is +-1.
 *
 * Relative error of E: with k = 0 it is r P(r), off by 2^-41.13. Otherwise 2|x| >= ln2/32, E/s = e^r (1 - e^(-2|x|)) >= 0.0209:
 *   P        2^-41.13 |r| s / E <= 2^-41.07
 *   r        k 2^-58 + (rounding of k C without FMA) 2^-53 2|x|: relative to 1 - e^(-2|x|) below 2^-47
 *   s, s - 1 2^-53 each, over 0.0209: 2^-46.4
 * E/(E+2) changes by 2/(E+2) <= 1 times that; E + 2 and the quotient add 2^-52 and 2^-49. Sum below 2^-40.9 < RM_TANH_F32_ERR. */
#ifndef RM_TANH_F32_H
#define RM_TANH_F32_H

#include "../exp/exp_f32.h"

#define RM_TANH_F32_ERR RM_BOUND(0x1p-40)

/* Of |x|: tanh is odd, the loop gives the sign back. */
RM_FN vf64 rm_tanh_eval(vf64 x) {
  vf64 a = vf64_min(vf64_set1(20.0), vf64_abs(x)), x2 = vf64_add(a, a), reciprocal;
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(x2, vf64_set1(RM_EXP_INV_STEP), magic);
  vf64 r = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_EXP_STEP), x2);
  vf64 s = rm_exp_scale(vf64_bits(z));
  vf64 e = vf64_mad(vf64_mul(s, r), rm_exp_p(r), vf64_sub(s, vf64_set1(1.0)));
  return vf64_quotient(e, vf64_add(e, vf64_set1(2.0)), &reciprocal);
}

#endif
