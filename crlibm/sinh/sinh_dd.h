/* sinh and cosh in double-double, for the fast phase of f64 and the accurate phase of every format, for |x| <= 670.
 *
 * |x| = k ln2/16 + rh + rl as in exp_dd.h, s (1 + tl) and s' (1 + tl') the table's 2^(k/16)/2 and 2^(-k/16)/2, A
 * their difference and B their sum, in two parts: sinh |x| = A cosh r + B sinh r, cosh x = B cosh r + A sinh r, with
 *   cosh r = 1 + h + c, h = RN(rh^2/2), c = (rh^2/2 - h) + rl rh + t4, t4 = rh^4 C(rh^2), |c| < 2^-26.6
 *   sinh r = rh + d, d = rl + rl h + t3, t3 = rh^3 S(rh^2), |d| < 2^-19.1
 * So both are X (1 + h + c) + Y (rh + d), where (X, Y) is (A, B) or (B, A).
 *
 * Error, u = 2^-53. With k = 0: A = 0, B = 1, rl = 0, exactly. Otherwise |sinh x| >= 0.0216 B, A/2.01:
 *   X, Y        low parts below 1.75u B, known to 2^-104 B
 *   X h, Y rh   exact in two parts; the sums of X, Y rh, X h are Fast2Sums: X = 0 or X > 1.99 |Y rh|, |X + Y rh| > |X h|
 *   t3          roundings 3.8u|t3|, S: 2^-55.58 |rh|^3 = 1.1u|t3|, d: 1u|t3|
 *   Y d         its product 1u Y|t3|, the sum with the other low parts 1u Y|t3|; Yl d left out: 1.75u Y|t3|
 *   X c         5u X|t4| + C: 2^-57.76 rh^4 X, rl rh^3/6 X, Xl c, and roundings of c and the other low parts: together
 *                 2^-75.8 X
 *   reduction   2^-79.5 cosh x resp. |sinh x|
 *   lo + err    1.01u Y|t3| + u X|t4|
 * Tiny x, k = 0: products that underflow count A = 0 times in sinh x, or are off by less than 2^-1070 against 1 or x.
 * Sum below 10.8u Y|t3| + 2^-75.7 X + 2^-79.5 (resp. 46.4 times that for sinh x, with X <= 2.01 sinh x: 2^-73.4 |hi|), less
 * than RM_SINH_DD_ERR_T Y|t3| + RM_SINH_DD_ERR |hi|. */
#pragma once

#include "../exp/exp_dd.h"
#include "sinh_tables.h"

#define RM_SINH_DD_ERR_T RM_BOUND(0x1.8p-50) /* 12u, times Y|t3| */
#define RM_SINH_DD_ERR RM_BOUND(0x1p-73) /* times the result */

typedef struct {
  vf64 a, al, b, bl, rh, h, c, d, t3;
} rm_sinh_terms;

RM_FN rm_sinh_terms rm_sinh_cosh_terms_dd(vf64 x) {
  rm_sinh_terms t;
  vi64 k;
  vf64 rl;
  rm_exp_reduce_dd(vf64_abs(x), vf64_set1(0.0), &k, &t.rh, &rl);
  vf64 s = rm_exp_scale(vi64_sub(k, vi64_set1(16))), w = vf64_mul(s, vf64_lookup16(rm_exp_t_lo, k));
  k = vi64_sub(vi64_set1(-16), k);
  vf64 i = rm_exp_scale(k), v = vf64_mul(i, vf64_lookup16(rm_exp_t_lo, k));
  t.a = vf64_fast_two_difference(s, i, &t.al); /* s >= i */
  t.b = vf64_fast_two_sum(s, i, &t.bl);
  t.al = vf64_add(t.al, vf64_sub(w, v));
  t.bl = vf64_add(t.bl, vf64_add(w, v));
  vf64 r2 = vf64_mul(t.rh, t.rh), r2e = vf64_mul_err(t.rh, t.rh, r2), r4 = vf64_mul(r2, r2);
  vf64 ps = vf64_mad(r4, vf64_set1(rm_sinh_s64[2]), vf64_mad(r2, vf64_set1(rm_sinh_s64[1]), vf64_set1(rm_sinh_s64[0])));
  vf64 pc = vf64_mad(r4, vf64_set1(rm_sinh_c64[2]), vf64_mad(r2, vf64_set1(rm_sinh_c64[1]), vf64_set1(rm_sinh_c64[0])));
  t.h = vf64_mul(vf64_set1(0.5), r2);
  t.t3 = vf64_mul(vf64_mul(t.rh, r2), ps);
  t.d = vf64_add(vf64_mad(rl, t.h, rl), t.t3);
  t.c = vf64_mad(vf64_set1(0.5), r2e, vf64_mad(rl, t.rh, vf64_mul(r4, pc)));
  return t;
}

/* x (1 + h + c) + y (rh + d), x and y with low parts. */
RM_FN void rm_sinh_sum_dd(const rm_sinh_terms *t, vf64 x, vf64 xl, vf64 y, vf64 yl, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 p = vf64_mul(y, t->rh), pe = vf64_mul_err(y, t->rh, p);
  vf64 g = vf64_mul(x, t->h), ge = vf64_mul_err(x, t->h, g);
  vf64 ve, v = vf64_fast_two_sum(x, p, &ve), low;
  *hi = vf64_fast_two_sum(v, g, &low);
  low = vf64_add(low, vf64_add(pe, ge));
  low = vf64_add(vf64_add(low, ve), vf64_mad(yl, t->rh, vf64_mad(xl, t->h, xl)));
  *lo = vf64_mad(y, t->d, vf64_mad(x, t->c, low));
  vf64 et = vf64_mul(vf64_mul(y, t->t3), vf64_set1(RM_SINH_DD_ERR_T));
  *err = vf64_mad(*hi, vf64_set1(RM_SINH_DD_ERR), vf64_abs(et)); /* hi >= 0 */
}

/* hi + lo = sinh |x| within err. */
RM_FN void rm_sinh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const rm_sinh_terms t = rm_sinh_cosh_terms_dd(x);
  rm_sinh_sum_dd(&t, t.a, t.al, t.b, t.bl, hi, lo, err);
}
