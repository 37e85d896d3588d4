/* pow in double-double, for the fast phase of f64 and the accurate phase of every format: |x|^y = e^z, z = y log|x|, |z| <=
 * 750.
 *
 * The logarithm must be better than double-double kernels need by themselves: its relative error is multiplied by |z|. Two
 * tables: |x| = 2^k m, c_j as in log_dd.h, r1 = m c_j - 1, i = r1 SCALE rounded, C = c_j d_i (exact, 27 bits),
 * r = m C - 1 = rh + rl, |rh| <= 2^-8.85, |rl| <= 2^-53 |rh| (rl = 0 when C = 1):
 * L = log|x| = w + r - r^2/2 + r^3/3 + r^4 Q(r), w = k ln2 - log c_j - log d_i. Around 1, i = 0 and w is exactly 0.
 *
 * Errors relative to L, u = 2^-53:
 *   w, high part   exact: multiples of 2^-42 below 2^10
 *   w, low part    k != 0: |k LN2_LO| <= 2^-42.4 |L|, eight roundings at most: 2^-92; k = 0: 2^-94 against |L| >= 2^-9
 *   rh + rl, rh^2  exact in two parts (as in log_dd.h)
 *   w + rh, - rh^2/2, + rh^3/3: Fast2Sums, as w = 0 or |w| >= 1.9 |rh| (pow_gen.py checks it): each sum exceeds what is added
 *   rh^3/3         in double-double; its low parts, 2^-19 2^-52 of rh, are rounded: 2^-120
 *   t = rh^4 Q     7.1u |t|: s^2 3u, Q 2.02u, the product 1u, adding t to the other low parts 1.01u; |t| <= 2^-28.55 |rh|:
 *                  2^-78.7 |rh|; Q itself: 2^-86.9 |rh|
 *   rl             rl (1 - rh + rh^2); rl rh^3 left out: 2^-79.5 |rh|, only when C != 1
 *   other low parts are below 2^-50 |L|, their roundings below 2^-100
 * C = 1: |rh| <= 1.002 |L|, sum below 2^-78.6. Otherwise |L| >= |w| - 1.003 |rh|, |rh| <= 1.12 |L|: below 2^-77.85, less than
 * RM_POW_EXPONENT_DD_ERR.
 * z = y L in double-double adds 2^-103. |z| <= 745: e^z is off by 745 2^-77.8 < 0.84 2^-68; RM_EXP_DD_ERR is 0.69 2^-68.
 * Sum below 1.54 2^-68 < RM_POW_DD_ERR. */
#pragma once

#include "../exp/exp_dd.h"
#include "../log/log_dd.h"
#include "pow_tables.h"

#define RM_POW_DD_ERR RM_BOUND(0x1.9p-68)
#define RM_POW_EXPONENT_DD_ERR 0x1.28p-78 /* of z, relatively: 2^-77.79; proofs/powers.py takes it from here */

/* hi + lo = log(2^k m), k, m, j from rm_log_reduce; |k| <= 1100. */
RM_FN void rm_pow_log_dd(vf64 k, vf64 m, vi64 j, vf64 *hi, vf64 *lo) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 c = vf64_lookup16(rm_log_c, j);
  vi64 i = vf64_bits(vf64_mad(vf64_mad(m, c, vf64_set1(-1.0)), vf64_set1(RM_POW_SCALE), magic));
  c = vf64_mul(c, vf64_lookup16(rm_pow_d, i));
  vf64 p = vf64_mul(m, c), rh, rl;
  rm_log_residue(p, vf64_mul_err(m, c, p), &rh, &rl);
  vf64 w = vf64_mad(k, vf64_set1(RM_LOG_LN2_HI), vf64_add(vf64_lookup16(rm_log_l_hi, j), vf64_lookup16(rm_pow_l_hi, i)));
  vf64 low = vf64_mad(k, vf64_set1(RM_LOG_LN2_LO), vf64_add(vf64_lookup16(rm_log_l_lo, j), vf64_lookup16(rm_pow_l_lo, i)));
  vf64 s = vf64_mul(rh, rh), se = vf64_mul_err(rh, rh, s);
  vf64 h = vf64_mul(vf64_set1(0.5), s);
  /* rh^3/3 = u + ul */
  const vf64 third = vf64_set1(RM_POW_THIRD);
  vf64 q = vf64_mul(rh, s), qe = vf64_mad(rh, se, vf64_mul_err(rh, s, q));
  vf64 u = vf64_mul(third, q), ul = vf64_mul_err(third, q, u);
  ul = vf64_add(ul, vf64_mad(third, qe, vf64_mul(vf64_set1(RM_POW_THIRD_LO), q)));
  vf64 p01 = vf64_mad(rh, vf64_set1(rm_pow_p64[1]), vf64_set1(rm_pow_p64[0]));
  vf64 p23 = vf64_mad(rh, vf64_set1(rm_pow_p64[3]), vf64_set1(rm_pow_p64[2]));
  vf64 p45 = vf64_mad(rh, vf64_set1(rm_pow_p64[5]), vf64_set1(rm_pow_p64[4]));
  vf64 t = vf64_mul(vf64_mul(s, s), vf64_mad(s, vf64_mad(s, p45, p23), p01));
  vf64 ge, g = vf64_fast_two_sum(w, rh, &ge);
  vf64 fe, f = vf64_fast_two_difference(g, h, &fe);
  vf64 ve, v = vf64_fast_two_sum(f, u, &ve);
  low = vf64_add(vf64_add(low, ge), vf64_add(fe, ve));
  low = vf64_add(low, vf64_mad(rl, vf64_sub(s, rh), rl));
  low = vf64_add(low, vf64_nmad(vf64_set1(0.5), se, ul));
  low = vf64_add(low, t);
  *hi = vf64_fast_two_sum(v, low, lo);
}

/* y log a = zh + zl for positive normal a, y = 0 or 2^-900 <= |y| (or *zh is tiny), |zh| <= 750 (or *zl means nothing). */
RM_FN void rm_pow_exponent_dd(vf64 a, vf64 y, vf64 *zh, vf64 *zl) {
  vf64 k, m, lh, ll;
  vi64 j;
  rm_log_reduce(a, &k, &m, &j);
  rm_pow_log_dd(k, m, j, &lh, &ll);
  *zh = vf64_mul(y, lh);
  *zl = vf64_mad(y, ll, vf64_mul_err(y, lh, *zh));
}
