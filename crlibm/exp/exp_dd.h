/* exp in double-double, for the fast phase of f64 and the accurate phase of every format; the core of exp2 and exp10 too.
 *
 * e^y, y = k ln2/16 + r, r = rh + rl, |r| <= ln2/32 (1 + 2^-20) < 2^-5.52; e^y = 2^(k/16) (1 + r + r^2/2 + r^3 Q(r)).
 *
 * The reduction of y = x + xl, |x| <= 750, |xl| < 2^-42 (0 for exp), |k| < 2^15:
 *   a = x - k HI       exact: HI is a multiple of 2^-42 with 38 bits; a is a multiple of 2^-58 below 2^-5
 *   b = xl - k LO      |b| < 2^-28: rounding 2^-82, constant k 2^-97
 *   rh + rl = a + b    Fast2Sum, off by less than 2^-80 when |a| < |b|; |rl| <= 2^-59 (exp2 has its own, |rl| <= 1.44 2^-59)
 *
 * Absolute error of e = e^r - 1 (each term is also its error relative to e^r, since e^r is within 2^-5 of 1):
 *   rh^2/2             exact in two parts
 *   r^3 Q              below 2^-19.1: half a last place of each partial result, and of each product too where there is no
 *                      FMA: 2^-70.3 at the ends of the interval; Q 2^-55.58-16.56 = 2^-72.1
 *   rl (1 + rh)        rl rh^2/2 left out: 2^-71, 2^-70.5 for exp2
 *   sum c              below 2^-19.1: its rounding 2^-73
 * For e^y, the Fast2Sums of 1, rh and h are exact; tl is known to 2^-107; tl c is left out: 2^-72.5; u tl + (c + ...) rounds
 * twice by 2^-73; t ul (where there is no FMA), its sum with T's product error and Ziv's rounding test's lo + err by half a
 * last place of 2^-19 t each, others by 2^-104. Nothing underflows or overflows when the result is between 2^-967 and 2^967,
 * nor before the scaling by 2^k. exp_budget.py adds all this up, box by box and for each entry of the table, in units of
 * 2^-69 of the result or of the 2.05 of rm_exp_fast_dd:
 * exp 1.18 with FMA, 1.35 without; exp2 1.07 and 1.19, exp2_accurate.h 1.18 and 1.36: below RM_EXP_DD_ERR, 1.375.
 * For e^r - 1 = eh + el, the Fast2Sums are exact or off by less than 2^-80. */
#pragma once

#include "exp_b64.h"

#define RM_EXP_DD_ERR RM_BOUND(0x1.6p-69)

/* x + xl = k ln2/16 + rh + rl; k is in the low bits of *k. */
RM_FN void rm_exp_reduce_dd(vf64 x, vf64 xl, vi64 *k, vf64 *rh, vf64 *rl) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(x, vf64_set1(RM_EXP_INV_STEP), magic);
  vf64 kd = vf64_sub(z, magic);
  *k = vf64_bits(z);
  vf64 a = vf64_nmad(kd, vf64_set1(RM_EXP_STEP_HI), x);
  vf64 b = vf64_nmad(kd, vf64_set1(RM_EXP_STEP_LO), xl);
  *rh = vf64_fast_two_sum(a, b, rl);
}

/* e^r - 1 = rh + h + c for r = rh + rl, h = RN(rh^2/2), |c| < 2^-19. For functions that need e^r - 1 with a small relative
 * error, *t = r^3 Q: in the table above every term of e is at most a multiple of |t|, together 10.3u|t| <= 12u|t| (5.1u for
 * the roundings of t and, without FMA, of its product in c, 1.1u for Q since Q >= 0.161, 3.1u for rl rh^2/2 when |rl| <=
 * u|rh|, 1u for c); the reduction adds less than 2^-80 when k != 0, nothing when k = 0 and xl = 0. */
RM_FN void rm_exp_series_dd(vf64 rh, vf64 rl, vf64 *h, vf64 *c, vf64 *t) {
  vf64 s = vf64_mul(rh, rh), se = vf64_mul_err(rh, rh, s);
  vf64 q01 = vf64_mad(rh, vf64_set1(rm_exp_p64[1]), vf64_set1(rm_exp_p64[0]));
  vf64 q23 = vf64_mad(rh, vf64_set1(rm_exp_p64[3]), vf64_set1(rm_exp_p64[2]));
  vf64 q45 = vf64_mad(rh, vf64_set1(rm_exp_p64[5]), vf64_set1(rm_exp_p64[4]));
  vf64 q = vf64_mad(s, vf64_mad(s, q45, q23), q01);
  vf64 cube = vf64_mul(rh, s);
  *t = vf64_mul(cube, q);
  *c = vf64_mad(cube, q, vf64_mad(vf64_set1(0.5), se, vf64_mad(rl, rh, rl)));
  *h = vf64_mul(vf64_set1(0.5), s);
}

/* Both for y = x. */
RM_FN void rm_exp_terms_dd(vf64 x, vi64 *k, vf64 *rh, vf64 *h, vf64 *c, vf64 *t) {
  vf64 rl;
  rm_exp_reduce_dd(x, vf64_set1(0.0), k, rh, &rl);
  rm_exp_series_dd(*rh, rl, h, c, t);
}

/* rh + h + c = eh + el, |el| <= ulp(eh). */
RM_FN void rm_exp_joined_dd(vf64 rh, vf64 h, vf64 c, vf64 *eh, vf64 *el) {
  vf64 vl, vh = vf64_fast_two_sum(h, c, &vl);
  *eh = vf64_fast_two_sum(rh, vh, el);
  *el = vf64_add(*el, vl);
}

/* e^r - 1 = eh + el, |el| <= ulp(eh). */
RM_FN void rm_exp_reduced_dd(vf64 x, vi64 *k, vf64 *eh, vf64 *el, vf64 *t) {
  vf64 rh, h, c;
  rm_exp_terms_dd(x, k, &rh, &h, &c, t);
  rm_exp_joined_dd(rh, h, c, eh, el);
}

/* t (1 + tl) (1 + rh + h + c) = hi + lo within err, t a power of two times a table entry, |lo| <= 2^-18 |hi|. */
RM_FN void rm_exp_product_dd(vf64 t, vf64 tl, vf64 rh, vf64 h, vf64 c, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0);
  vf64 ve, v = vf64_fast_two_sum(one, rh, &ve);
  vf64 ue, u = vf64_fast_two_sum(v, h, &ue);
  vf64 ul = vf64_mad(tl, u, vf64_add(vf64_add(ve, ue), c));
  *hi = vf64_mul(t, u);
  *lo = vf64_mad(t, ul, vf64_mul_err(t, u, *hi));
  *err = vf64_mul(*hi, vf64_set1(RM_EXP_DD_ERR));
}

/* hi + lo = 2^(k/16) (1 + rh + h + c) within err, the result between 2^-967 and 2^967. */
RM_FN void rm_exp_scaled_dd(vi64 k, vf64 rh, vf64 h, vf64 c, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_exp_product_dd(rm_exp_scale(k), vf64_lookup16(rm_exp_t_lo, k), rh, h, c, hi, lo, err);
}
/* (hi + lo) 2^floor(k/16) = 2^(k/16) (1 + rh + h + c), hi + lo within err, 1/2 < hi < 2. */
RM_FN void rm_exp_unscaled_dd(vi64 k, vf64 rh, vf64 h, vf64 c, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_exp_product_dd(vf64_lookup16(rm_exp_t_hi, k), vf64_lookup16(rm_exp_t_lo, k), rh, h, c, hi, lo, err);
}

/* The f64 step of exp, exp2, exp10 and pow, where the result 2^(k/16) e^(rh + rl) is normal: rounds before the scaling, so
 * that nothing can underflow. The relative error is below rel: RM_EXP_DD_ERR and what the argument adds; hi < 2 e^(ln2/32)
 * 1.001 < 2.05, and a constant costs less than a product. */
RM_FN vm64 rm_exp_fast_dd(vi64 k, vf64 rh, vf64 rl, double rel, vf64 *y) {
  vf64 h, c, t, hi, lo, err, v;
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_unscaled_dd(k, rh, h, c, &hi, &lo, &err);
  vm64 undecided = vf64_undecided_f64(hi, lo, vf64_set1(2.05 * rel), &v);
  vi64 exponent = vi64_sll(vi64_and(k, vi64_set1(-16)), 48);
  *y = vf64_from_bits(vi64_add(vf64_bits(v), exponent));
  return undecided;
}

/* hi + lo = e^(x + xl) within err, for |x| <= 670, |xl| < 2^-42. */
RM_FN void rm_exp_sum_dd(vf64 x, vf64 xl, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k;
  vf64 rh, rl, h, c, t;
  rm_exp_reduce_dd(x, xl, &k, &rh, &rl);
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_scaled_dd(k, rh, h, c, hi, lo, err);
}
