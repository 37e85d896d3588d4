/* The core of sin, cos and tan in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * |x| = k pi/16 + r, r = rh + rl, |r| <= pi/32 (1 + 2^-11) < 2^-3.34. With S + Sl and C + Cl the sine and cosine of k pi/16
 * by table (exactly 0 at multiples of pi/2) and h = r^2/2:
 *   sin |x| = S + C rh - h (S + C rh/3) + r^4 (C r P + S Q) + rl (C - C h - S rh) + Sl (1 - h) + Cl (rh - h rh/3)
 *
 * Reduction, for |x| <= RM_SIN_DD_MAX, k < 2^22; u = 2^-53:
 *   a = |x| - k STEP_1    exact (31 bits): with k > 0, |x| >= 0.098; multiples of 2^-56, the difference below 2^-3.3
 *   b = k STEP_2          exact (28 bits); below 2^-14, a multiple of 2^-64
 *   h + l = a - b         Fast2Sum; when |a| < |b| the difference itself is exact
 *   l - k STEP_3          STEP_3 < 2^-66: the product and the rest of pi/16 k 2^-119 each, the difference 2u^2 |r| + k 2^-119
 *   rh + rl               Fast2Sum again; off by at most 2u k 2^-66 when |h| < k 2^-66
 * Sum below 2u^2 |r| + k 2^-116, and |rl| <= u |rh|.
 *
 * Evaluation. Let m = r^4 (C r P + S Q). Where S != 0, |S| >= 0.195 and |C r P| <= 0.1 |S Q|, so |S Q r^4| <= 1.11 |m|.
 *   r^4         three roundings; the sum of C r P and S Q; the product: 5u|m|
 *   S Q         last steps of Q 1.1u, its fit 0.5u, the product 1u, S for S + Sl 1u: 3.6u
 *   C r P       likewise, the product rounding without FMA only, and C r 1u: 4.6u; a tenth of it: together 4.1u|S Q r^4| <=
 *               4.6u|m|
 *   slope       S r^3/6 and C r^4/24 are left out of cos |x|: 4.5u|S Q r^4| <= 5u|m|
 * Sum 14.6u|m|, and no more where S = 0: 4u, 4.6u and 5u. The sum with m and the sum lo + err of Ziv's rounding test add
 * 2u|m|. All else is exact in two parts, low parts at most 2^-52 |hi| and their roundings 2^-104: S = 0 or |S| >= 2 |C rh|,
 * so that the Fast2Sums are exact and |hi| >= 0.49 |S|. Together 17u|m| + 2^-98 |hi| + the error of r.
 *
 * Tiny |x|: h, r^4 and low parts may underflow, but then k = 0, C = 1 and they do not count: hi = |x|, lo = 0. */
#pragma once

#include "sin_b64.h"

#define RM_SIN_DD_ERR_M RM_BOUND(0x1.2p-49) /* 18u, times |m| */
#define RM_SIN_DD_ERR RM_BOUND(0x1p-90) /* times |hi| */
#define RM_SIN_DD_ERR_K RM_BOUND(0x1p-116) /* times k: the reduction */
#define RM_SIN_DD_ERR_FAR RM_BOUND(0x1p-108) /* times k: the reduction beyond */
#define RM_SIN_DD_MAX 819200.0 /* below 2^22 pi/16 */
#define RM_SIN_DD_FAR 0x1p37 /* below 2^40 pi/16 */

/* a = k pi/16 + rh + rl within err for 0 <= a <= RM_SIN_DD_MAX; k is in the low bits of *k. */
RM_FN void rm_sin_reduce_dd(vf64 a, vi64 *k, vf64 *rh, vf64 *rl, vf64 *err) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(a, vf64_set1(RM_SIN_INV_STEP), magic), kd = vf64_sub(z, magic);
  *k = vf64_bits(z);
  a = vf64_nmad(kd, vf64_set1(RM_SIN_STEP_1), a);
  vf64 b = vf64_mul(kd, vf64_set1(RM_SIN_STEP_2));
  vf64 l, h = vf64_fast_two_difference(a, b, &l);
  l = vf64_nmad(kd, vf64_set1(RM_SIN_STEP_3), l);
  *rh = vf64_fast_two_sum(h, l, rl);
  *err = vf64_mul(kd, vf64_set1(RM_SIN_DD_ERR_K));
}

/* The same for RM_SIN_DD_MAX <= a <= RM_SIN_DD_FAR, k < 2^40, with pi/16 = STEP + STEP_LO:
 *   k         16/pi a is off by 2^-12.4: |r| <= pi/32 (1 + 2^-11)
 *   p + pe    k STEP, exact
 *   t         a - p, exact (Sterbenz)
 *   s + se    pe + k STEP_LO, by TwoSum; k STEP_LO is rounded by k 2^-110, and as much is missing in STEP_LO. |s| < ulp(p):
 *             |pe| is at most half of it, k STEP_LO 0.36
 *   h, l      t - s, by Fast2Sum: t is 0 or at least ulp(p)/2, so its exponent is not below that of s
 * The roundings of low parts are below k 2^-120. */
RM_FN void rm_sin_reduce_far_dd(vf64 a, vi64 *k, vf64 *rh, vf64 *rl, vf64 *err) {
  const vf64 magic = vf64_set1(0x1.8p52), step = vf64_set1(RM_SIN_STEP);
  vf64 z = vf64_mad(a, vf64_set1(RM_SIN_INV_STEP), magic), kd = vf64_sub(z, magic);
  *k = vf64_bits(z);
  vf64 p = vf64_mul(kd, step), pe = vf64_mul_err(kd, step, p), t = vf64_sub(a, p);
  vf64 se, s = vf64_two_sum(pe, vf64_mul(kd, vf64_set1(RM_SIN_STEP_LO)), &se);
  vf64 l, h = vf64_fast_two_difference(t, s, &l);
  *rh = vf64_fast_two_sum(h, vf64_sub(l, se), rl);
  *err = vf64_mul(kd, vf64_set1(RM_SIN_DD_ERR_FAR));
}

/* What the sine and the cosine of r = rh + rl have in common: h + hl = r^2/2, but for rl, and r^4, P, Q. */
typedef struct {
  vf64 rh, rl, h, hl, r4, p, q;
} rm_sin_powers;

RM_FN rm_sin_powers rm_sin_powers_dd(vf64 rh, vf64 rl) {
  const vf64 half = vf64_set1(0.5);
  rm_sin_powers r;
  vf64 s = vf64_mul(rh, rh);
  r.rh = rh;
  r.rl = rl;
  r.h = vf64_mul(half, s);
  r.hl = vf64_mul(half, vf64_mul_err(rh, rh, s));
  r.r4 = vf64_mul(s, s);
  r.p = vf64_set1(rm_sin_p64[3]);
  r.q = vf64_set1(rm_sin_q64[3]);
  RM_UNROLL
  for (int i = 2; i >= 0; i--) {
    r.p = vf64_mad(r.p, s, vf64_set1(rm_sin_p64[i]));
    r.q = vf64_mad(r.q, s, vf64_set1(rm_sin_q64[i]));
  }
  return r;
}

/* hi + lo = (S + Sl) cos r + (C + Cl) sin r within err, when r is within r_err. */
RM_FN void rm_sin_sum_dd(const rm_sin_powers *r, vf64 S, vf64 Sl, vf64 C, vf64 Cl, vf64 r_err, vf64 *hi, vf64 *lo,
                         vf64 *err) {
  const vf64 third = vf64_set1(RM_SIN_THIRD);
  vf64 p = vf64_mul(C, r->rh), pl = vf64_mad(Cl, r->rh, vf64_mul_err(C, r->rh, p));
  vf64 b = vf64_mul(p, third);
  vf64 bl = vf64_mad(pl, third, vf64_mad(p, vf64_set1(RM_SIN_THIRD_LO), vf64_mul_err(p, third, b)));
  vf64 gl, g = vf64_fast_two_sum(S, b, &gl);
  gl = vf64_add(gl, bl);
  vf64 q = vf64_mul(r->h, g), ql = vf64_mad(r->h, gl, vf64_mad(r->hl, g, vf64_mul_err(r->h, g, q)));
  vf64 m = vf64_mul(r->r4, vf64_mad(p, r->p, vf64_mul(S, r->q)));
  vf64 slope = vf64_nmad(S, r->rh, vf64_nmad(C, r->h, C));
  vf64 ve, v = vf64_fast_two_sum(S, p, &ve);
  vf64 he;
  *hi = vf64_fast_two_difference(v, q, &he);
  vf64 low = vf64_add(vf64_add(vf64_add(ve, he), vf64_sub(pl, ql)), vf64_nmad(Sl, r->h, Sl));
  *lo = vf64_add(vf64_mad(r->rl, slope, low), m);
  *err = vf64_mad(vf64_abs(*hi), vf64_set1(RM_SIN_DD_ERR), r_err);
  *err = vf64_mad(vf64_abs(m), vf64_set1(RM_SIN_DD_ERR_M), *err);
}

/* hi + lo = sin((k & 15) pi/16 + rh + rl) within err, when the argument is within r_err. Where bit 4 of k is set, the sign of
 * sin(k pi/16 + ...) is the other one. */
RM_FN void rm_sin_reduced_dd(vi64 k, vf64 rh, vf64 rl, vf64 r_err, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_sin_powers r = rm_sin_powers_dd(rh, rl);
  rm_sin_sum_dd(&r, vf64_lookup16(rm_sin_t_sin, k), vf64_lookup16(rm_sin_t_sin_lo, k), vf64_lookup16(rm_sin_t_cos, k),
                vf64_lookup16(rm_sin_t_cos_lo, k), r_err, hi, lo, err);
}

/* *y = sin(|x| + turn pi/2), its sign changed where the top bit of flip is set; returns the lanes that are not decided. far:
 * the second reduction. The sign comes last: that of a zero would be lost before. */
RM_FN vm64 rm_sin_turned_f64(vf64 x, int turn, vi64 flip, int far, vf64 *y) {
  vi64 k;
  vf64 rh, rl, hi, lo, err, v;
  if (far) rm_sin_reduce_far_dd(vf64_abs(x), &k, &rh, &rl, &err);
  else rm_sin_reduce_dd(vf64_abs(x), &k, &rh, &rl, &err);
  k = vi64_add(k, vi64_set1(8 * turn));
  rm_sin_reduced_dd(k, rh, rl, err, &hi, &lo, &err);
  vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);
  *y = rm_sin_flip(v, vi64_xor(flip, vi64_sll(k, 59)));
  return undecided;
}

/* The lanes between the two reductions' limits that the second decides. */
RM_FN vm64 rm_sin_decide_dd(vf64 x, int turn, vi64 flip, vf64 *y) {
  vf64 v;
  vm64 undecided = rm_sin_turned_f64(x, turn, flip, 1, &v);
  return rm_sin_decide(x, RM_SIN_DD_MAX, RM_SIN_DD_FAR, v, undecided, y);
}
