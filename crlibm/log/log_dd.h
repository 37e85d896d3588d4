/* log in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * The reduction of log_b64.h; m c_j - 1 = rh + rl, |rh| <= 2^-5, |rl| <= 2^-53 |rh|:
 * log x = (k LN2_HI + L_HI) + rh - rh^2/2 + t + low terms, t = rh^3 Q(rh). With u = 2^-53:
 *   k LN2_HI + L_HI     exact: multiples of 2^-42 below 2^10
 *   m c_j               exact in two parts; rh + rl by Fast2Sum: |m c_j - 1| is zero or above the product's error
 *   w + rh, - rh^2/2    Fast2Sums: w = 0 or |w| >= |rh|; |w + rh| >= rh^2/2
 *   t                   six roundings: 5.1u|t| (half last places on a grid; 6.1u at most); Q: 2^-55.56 |rh|^3 <= 0.6u|t| (Q
 *                       >= 0.32)
 *   rl (1 - rh)         rl rh^2 left out: below 3.1u|t|
 *   sums of low parts   the last one rounds by 1u|t|; the others, of parts below 2^-34, by 2^-86 |log x|
 *   constants           |k| 2^-98 + 2^-97; k LN2_LO rounded: 2^-87, only when k != 0, |log x| > 0.34
 * Sum below 10.8u|t| + 2^-84 |log x| (9.4u with half last places), and the sum lo + err of Ziv's rounding test rounds by
 * 1.1u|t|: err = 12u|t| + 2^-80 |hi|. */
#pragma once

#include "log_b64.h"

#define RM_LOG_DD_ERR_T RM_BOUND(0x1.8p-50) /* 12u, times |t| */
#define RM_LOG_DD_ERR RM_BOUND(0x1p-80) /* times |log x| */

/* r = p + pe - 1 = rh + rl, exactly, |rl| <= 2^-53 |rh|, for p in [0.9, 1.1] and |pe| <= 2^-50: p - 1 is a multiple of 2^-53,
 * hence of ulp(pe), which is enough for Fast2Sum. */
RM_FN void rm_log_residue(vf64 p, vf64 pe, vf64 *rh, vf64 *rl) {
  vf64 a = vf64_sub(p, vf64_set1(1.0));
  *rh = vf64_fast_two_sum(a, pe, rl);
}

/* hi + lo = k ln2 - log c_j + log(1+r) within err, r = rh + rl. */
RM_FN void rm_log_sum_dd(vf64 k, vi64 j, vf64 rh, vf64 rl, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 w = vf64_mad(k, vf64_set1(RM_LOG_LN2_HI), vf64_lookup16(rm_log_l_hi, j));
  vf64 low = vf64_mad(k, vf64_set1(RM_LOG_LN2_LO), vf64_lookup16(rm_log_l_lo, j));
  vf64 s = vf64_mul(rh, rh), se = vf64_mul_err(rh, rh, s), s2 = vf64_mul(s, s);
  vf64 q01 = vf64_mad(rh, vf64_set1(rm_log_p64[1]), vf64_set1(rm_log_p64[0]));
  vf64 q23 = vf64_mad(rh, vf64_set1(rm_log_p64[3]), vf64_set1(rm_log_p64[2]));
  vf64 q45 = vf64_mad(rh, vf64_set1(rm_log_p64[5]), vf64_set1(rm_log_p64[4]));
  vf64 q67 = vf64_mad(rh, vf64_set1(rm_log_p64[7]), vf64_set1(rm_log_p64[6]));
  vf64 q89 = vf64_mad(rh, vf64_set1(rm_log_p64[9]), vf64_set1(rm_log_p64[8]));
  vf64 q = vf64_mad(s2, vf64_mad(s2, q89, vf64_mad(s, q67, q45)), vf64_mad(s, q23, q01));
  vf64 t = vf64_mul(vf64_mul(rh, s), q);
  const vf64 half = vf64_set1(0.5);
  vf64 ge, g = vf64_fast_two_sum(w, rh, &ge);
  vf64 h = vf64_mul(half, s);
  vf64 he;
  *hi = vf64_fast_two_difference(g, h, &he);
  low = vf64_add(low, vf64_nmad(rl, rh, rl));
  low = vf64_nmad(half, se, vf64_add(low, vf64_add(ge, he)));
  *lo = vf64_add(low, t);
  *err = vf64_mad(vf64_abs(t), vf64_set1(RM_LOG_DD_ERR_T), vf64_abs(vf64_mul(*hi, vf64_set1(RM_LOG_DD_ERR))));
}

/* x = 2^k m and m c_j - 1 = rh + rl, exactly, for positive normal x. */
RM_FN void rm_log_reduce_exactly(vf64 x, vf64 *k, vi64 *j, vf64 *rh, vf64 *rl) {
  vf64 m;
  rm_log_reduce(x, k, &m, j);
  vf64 c = vf64_lookup16(rm_log_c, *j);
  vf64 p = vf64_mul(m, c);
  rm_log_residue(p, vf64_mul_err(m, c, p), rh, rl);
}

/* hi + lo = log x within err, for positive normal x. */
RM_FN void rm_log_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 k, rh, rl;
  vi64 j;
  rm_log_reduce_exactly(x, &k, &j, &rh, &rl);
  rm_log_sum_dd(k, j, rh, rl, hi, lo, err);
}

/* hi + lo = log x (ch + cl) within err, for h + l = log x within e by rm_log_dd or rm_log_any_dd (log_any.h); ch + cl = c
 * within 2^-107 c, |cl| <= 2^-53 c.
 *
 * With log x = h + l as in log_dd.h, u = 2^-53: h ch is exact in two parts. Relative to c |t| the errors are 10.8u of h + l;
 * 2u for the product l ch and the sum with the rest (of parts below 2^-52 |hi|); 0.5u for l cl, left out; 1.1u in the
 * rounding test. Sum below 14.4u; the other errors of h + l and those of parts of size 2^-52 |hi| are below 2^-83 |hi|. err,
 * 4/3 of that of h + l times c, is 16u c |t| + 1.3 2^-80 |hi|. */
RM_FN void rm_log_product_dd(vf64 h, vf64 l, vf64 e, vf64 c, double ch, double cl, vf64 *hi, vf64 *lo, vf64 *err) {
  *hi = vf64_mul(h, c);
  *lo = vf64_mad(l, c, vf64_mad(h, vf64_set1(cl), vf64_mul_err(h, c, *hi)));
  *err = vf64_mul(e, vf64_set1(ch * 0x1.56p+0)); /* 0x1.56 > 4/3 */
}
/* The same of a positive normal x. */
RM_FN void rm_log_times_dd(vf64 x, double ch, double cl, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 c = vf64_set1(ch);
  vf64 h, l, e;
  rm_log_dd(x, &h, &l, &e);
  rm_log_product_dd(h, l, e, c, ch, cl, hi, lo, err);
}

/* The reduction of xh + xl, xh positive normal, below 2^1022 (below 2^1023 when |xl| < 2^-120 xh), |xl| <= 2^-51 xh. Around
 * 1, where k = 0 and c_j = 1, rh + rl is exact. Elsewhere xl 2^-k c_j and its sum with the product's error round by 2^-102,
 * which changes |log x| >= 2^-6 by 2^-96 relatively. (xl may move r beyond 2^-5, by 2^-46 of it; Q's bound stays.) */
RM_FN void rm_log_reduce_dd(vf64 xh, vf64 xl, vf64 *k, vi64 *j, vf64 *rh, vf64 *rl) {
  vf64 m;
  rm_log_reduce(xh, k, &m, j);
  vf64 c = vf64_lookup16(rm_log_c, *j);
  vf64 p = vf64_mul(m, c), pe = vf64_mul_err(m, c, p);
  vi64 one = vi64_set1(INT64_C(1023) << 52); /* xh 2^-k = m: their exponents differ by k */
  vf64 scale = vf64_from_bits(vi64_add(one, vi64_sub(vf64_bits(m), vf64_bits(xh))));
  rm_log_residue(p, vf64_mad(vf64_mul(xl, scale), c, pe), rh, rl);
}

/* hi + lo = log(xh + xl) within err, for positive normal xh < 2^1022, |xl| <= 2^-51 xh. For xh + xl near 1 the error stays
 * small relative to the result: xh + xl - 1 is used exactly. */
RM_FN void rm_log_dd_of(vf64 xh, vf64 xl, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 k, rh, rl;
  vi64 j;
  rm_log_reduce_dd(xh, xl, &k, &j, &rh, &rl);
  rm_log_sum_dd(k, j, rh, rl, hi, lo, err);
}

/* hi + lo = log(xh + xl) within err for xh, xl as in rm_log_dd_of, where |xh + xl - 1| < 1/64, that is where the table gives
 * 1 and no constant is added (w = 0), computed from uh + ul = xh + xl - 1, |ul| <= 2^-53 |uh|, and |uh| >= 2^-960 or uh = 0.
 * */
RM_FN void rm_log_near_dd(vf64 xh, vf64 xl, vf64 uh, vf64 ul, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 k, rh, rl;
  vi64 j;
  rm_log_reduce_dd(xh, xl, &k, &j, &rh, &rl);
  vf64 w = vf64_mad(k, vf64_set1(RM_LOG_LN2_HI), vf64_lookup16(rm_log_l_hi, j));
  vm64 near = vf64_eq(w, vf64_set1(0.0));
  rm_log_sum_dd(k, j, vf64_select(near, uh, rh), vf64_select(near, ul, rl), hi, lo, err);
}

/* hi + lo = log(1 + u) within err, u = uh + ul, |ul| <= 2^-53 |uh|; uh < 2^1022 (2^1023 when ul = 0); uh >= -1/2, or ul = 0
 * and uh > -1; |uh| >= 2^-960 or uh = 0. 1 + uh = xh + xl exactly, and xl + ul rounds by 2^-105 of xh. */
RM_FN void rm_log1p_dd_of(vf64 uh, vf64 ul, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0);
  vf64 xl, xh = vf64_two_sum(one, uh, &xl);
  rm_log_near_dd(xh, vf64_add(xl, ul), uh, ul, hi, lo, err);
}
