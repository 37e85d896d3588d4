/* sinh for f32 and the 16-bit formats, evaluated in binary64; the terms of cosh too.
 *
 * x = k ln2/16 + r as in exp. With s = 2^(k/16), 1/s = 2^(-k/16) by table, a = s - 1/s, b = s + 1/s:
 * sinh x = (a cosh r + b sinh r)/2, cosh x = (b cosh r + a sinh r)/2; the halves are in the polynomials of cosh r and sinh r.
 *
 * Relative error of sinh x for 0 < |x| <= 90, |k| <= 2078. With k = 0, a = 0 and b = 2: the error of sinh r. Otherwise, with
 * y = k ln2/16, |a/2| = sinh |y| <= 2.01 |sinh x| (y = ln2/16, r = -ln2/32), b/2 = cosh y <= 46.4 |sinh x|:
 *   cosh r   2 2^-35.60 r^2 < 2^-45.65, times 2.01                          2^-44.64
 *   sinh r   2 2^-38.41 |r|^3 < 2^-48.4 |r|, |r| b/2 <= 1.01 |sinh x|       2^-48.4
 *   s, 1/s   2^-53 of each, times cosh r: 2^-53 b/2                         2^-47.46
 *   r        k 2^-58 + (rounding of k C without FMA) 2^-53 |x|; |x| cosh x <= (|x| + 1) |sinh x|: 2^-45.7
 *   the rest a, b, products, the final operation                           2^-50.5
 * Sum below 2^-43.8 < RM_SINH_B64_ERR. */
#pragma once

#include "../exp/exp_b64.h"
#include "sinh_tables.h"

#define RM_SINH_B64_ERR RM_BOUND(0x1p-43)

/* a and b as above, c = cosh(r)/2, d = sinh(r)/2. */
RM_FN void rm_sinh_cosh_terms(vf64 x, vf64 *a, vf64 *b, vf64 *c, vf64 *d) {
  const vf64 magic = vf64_set1(0x1.8p52), half = vf64_set1(0.5);
  vf64 z = vf64_mad(x, vf64_set1(RM_EXP_INV_STEP), magic);
  vf64 r = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_EXP_STEP), x), r2 = vf64_mul(r, r);
  vi64 k = vf64_bits(z);
  vf64 s = rm_exp_scale(k), inverse = rm_exp_scale(vi64_sub(vi64_set1(0), k));
  *a = vf64_sub(s, inverse);
  *b = vf64_add(s, inverse);
  *c = vf64_mad(r2, vf64_mad(r2, vf64_set1(rm_sinh_c32[1]), vf64_set1(rm_sinh_c32[0])), half);
  *d = vf64_mul(r, vf64_mad(r2, vf64_mad(r2, vf64_set1(rm_sinh_s32[1]), vf64_set1(rm_sinh_s32[0])), half));
}

/* For |x| <= 90; the sign of a zero is lost. */
RM_FN vf64 rm_sinh_eval(vf64 x) {
  vf64 a, b, c, d;
  rm_sinh_cosh_terms(x, &a, &b, &c, &d);
  return vf64_mad(b, d, vf64_mul(a, c));
}
