/* The angle of a direction in double-double: the core of atan, atan2, asin and acos in the fast phase of f64, and in the
 * accurate phase of every format.
 *
 * The reduction of atan_b64.h with -t; numerator nh + nl, denominator dh + dl, t = q + tl, q = nh/dh within 2^-51.9;
 * v = angle_j + q - q^3/3 + q^5 Q(q^2) + tl / (1 + q^2). With u = 2^-53:
 *   numerator    the rounded products of sectors 1 to 14 are within a factor of two of each other (atan_gen.py): their
 *                difference is exact, and so are their errors, whose difference rounds by 2^-105 of them
 *   denominator  TwoSum; low parts likewise
 *   tl           below 2^-50.9 |q| in sector 0 (where a coordinate may itself have a low part, of 2^-51.9), below 2^-50.6 v
 *                in the others: the errors of the products are at most 2u 1.25 v of the denominator. Times a reciprocal
 *                within 2^-27: 2^-77
 *   1/(1 + q^2)  1 - q^2 + q^4, off by q^6 < 2^-20 (sector 0: 2^-20.4): times |tl|: 2^-70.6 v
 *   q^3/3        in double-double: 2^-104
 *   z = q^5 Q    q^5 by q s s, s = RN(q^2): 4u; Q: two roundings of half a unit in the last place of 0.2 and, without FMA,
 *                the products with s and s^2: 1.3u, and it is within 2^-54.67 <= 1.7u Q; the product 1u: 8.0u|z|
 *   sums         Fast2Sums exact: the angle is 0 or greater than |q|, both than |q^3/3|. The last sum rounds by 1u|z|, the
 *                others, of parts below 2^-49 v, by 2^-102 v
 * Error below 9.0u|z| + 2^-70.5 v. Taking it from pi (rm_atan_left_dd) and the sum lo + err of Ziv's rounding test round by
 * 1.1u|z| each: err = 12u|z| + 2^-70 v. */
#pragma once

#include "atan_b64.h"

#define RM_ATAN_DD_ERR_Z RM_BOUND(0x1.8p-50) /* 12u, times |z| */
#define RM_ATAN_DD_ERR RM_BOUND(0x1p-70)     /* times v */

/* a c - b s = nh + nl and b c + a s = dh + dl for a direction c, s of the table. */
RM_FN void rm_atan_turn_dd(vf64 a, vf64 b, vf64 c, vf64 s, vf64 *nh, vf64 *nl, vf64 *dh, vf64 *dl) {
  vf64 ac = vf64_mul(a, c), bs = vf64_mul(b, s), bc = vf64_mul(b, c), as = vf64_mul(a, s);
  *nh = vf64_sub(ac, bs);
  *nl = vf64_sub(vf64_mul_err(a, c, ac), vf64_mul_err(b, s, bs));
  vf64 e;
  *dh = vf64_two_sum(bc, as, &e);
  *dl = vf64_add(e, vf64_add(vf64_mul_err(b, c, bc), vf64_mul_err(a, s, as)));
}

/* hi + lo = angle_j + atan((nh + nl) / (dh + dl)) within err. */
RM_FN void rm_atan_turned_dd(vf64 nh, vf64 nl, vf64 dh, vf64 dl, vi64 j, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), third = vf64_set1(rm_atan_third[0]);
  vf64 reciprocal, q = vf64_quotient(nh, dh, &reciprocal);
  vf64 residual = vf64_sub(vf64_nmad(q, dl, nl), vf64_mul_err(q, dh, nh));
  vf64 s = vf64_mul(q, q), se = vf64_mul_err(q, q, s);
  vf64 m = vf64_mul(q, s), me = vf64_mul_err(q, s, m);
  vf64 w = vf64_mul(m, third), we = vf64_mul_err(m, third, w);
  vf64 tl = vf64_mul(vf64_mul(residual, reciprocal), vf64_nmad(s, vf64_sub(one, s), one));
  vf64 wl = vf64_mad(m, vf64_set1(rm_atan_third[1]), vf64_mad(third, vf64_mad(q, se, me), we));
  vf64 s2 = vf64_mul(s, s);
  vf64 q01 = vf64_mad(s, vf64_set1(rm_atan_p64[1]), vf64_set1(rm_atan_p64[0]));
  vf64 q23 = vf64_mad(s, vf64_set1(rm_atan_p64[3]), vf64_set1(rm_atan_p64[2]));
  vf64 q45 = vf64_mad(s, vf64_set1(rm_atan_p64[5]), vf64_set1(rm_atan_p64[4]));
  vf64 z = vf64_mul(vf64_mul(m, s), vf64_mad(s2, vf64_mad(s2, q45, q23), q01));
  vf64 angle = vf64_lookup16(rm_atan_angle, j);
  vf64 ge, g = vf64_fast_two_sum(angle, q, &ge);
  vf64 he, h = vf64_fast_two_sum(g, w, &he);
  vf64 low = vf64_add(vf64_add(tl, wl), vf64_add(vf64_add(ge, he), vf64_lookup16(rm_atan_angle_lo, j)));
  *hi = h;
  *lo = vf64_add(low, z);
  *err = vf64_mad(vf64_abs(z), vf64_set1(RM_ATAN_DD_ERR_Z), vf64_mul(h, vf64_set1(RM_ATAN_DD_ERR)));
}

/* hi + lo = angle of (b, a) within err; a, b are 0 or between 2^-480 and 2^480, not both 0. */
RM_FN void rm_atan_direction_dd(vf64 a, vf64 b, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 nh, nl, dh, dl;
  vi64 j = rm_atan_sector(rm_atan_ratio(a, vf64_max(b, vf64_set1(0x1p-500))));
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  rm_atan_turn_dd(a, b, c, s, &nh, &nl, &dh, &dl);
  rm_atan_turned_dd(nh, nl, dh, dl, j, hi, lo, err);
}

/* hi + lo <- pi - (hi + lo) where `left`: the angle of (-b, a). 0 <= hi < 2; pi is known to 2^-107. */
RM_FN void rm_atan_left_dd(vm64 left, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 pi = vf64_set1(rm_atan_pi[0]);
  vf64 e, h = vf64_fast_two_difference(pi, *hi, &e);
  *hi = vf64_select(left, h, *hi);
  *lo = vf64_select(left, vf64_sub(vf64_add(e, vf64_set1(rm_atan_pi[1])), *lo), *lo);
  *err = vf64_select(left, vf64_add(*err, vf64_set1(RM_BOUND(0x1p-100))), *err);
}

/* hi + lo = atan |x| within err; |x| is 0 or at least 2^-960. Beyond 2^100 the result is within 2^-100 of pi/2. C_j + |x|
 * S_j by Fast2Sum: exact also when |x| S_j is the larger, since C_j has 8 bits and is 0 for |x| >= 12. */
RM_FN void rm_atan_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 a = vf64_min(vf64_set1(0x1p100), vf64_abs(x)); /* keeps a NaN, which fails Ziv's rounding test */
  vi64 j = rm_atan_sector(a);
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  vf64 ac = vf64_mul(a, c), as = vf64_mul(a, s), dl, d = vf64_fast_two_sum(c, as, &dl);
  dl = vf64_add(dl, vf64_mul_err(a, s, as));
  rm_atan_turned_dd(vf64_sub(ac, s), vf64_mul_err(a, c, ac), d, dl, j, hi, lo, err);
}
