/* exp for rows of binary64: nearly all of two parts, since one sum of exponentials enters every result of a row.
 *
 * The reduction of exp_dd.h with a third part of ln2/16, so that e^y = 2^(k/16) e^r, |r| <= H = ln2/32 (1 + 2^-20), and
 *   e^r = 1 + r v, v = 1 + r (1/2 + r (1/6 + r (1/24 + r Q(r)))), Q of degree 5 in binary64, the rest in two parts.
 *
 * The reduction of y = x + xl, |x| <= 750, |xl| < 2^-42, |k| < 2^15:
 *   a = x - k HI           exact (exp_dd.h); p + pe = k LO and b + be = xl - p exactly, and so is rh + e = a + b
 *   rl = e + (be - (pe + k LO2))   |e| <= 2^-59, the other parts below 2^-80: it rounds by 2^-111; constant k 2^-150
 * so |rl| <= 2^-59 (1 + 2^-20), and where k = 0 r is exact.
 *
 * Absolute error of e^r; that of v is the same without one factor r, which is relative to r v:
 *   Q        2^-60 for the last sum, 2^-61.64 for the fit, 2^-67 for r/720 and what is in it: 1.33 2^-60 r^5
 *   rh Q     below 2^-12.4, rounded by 2^-66: 2^-66 r^4
 *   rl Q     left out, and rl r Q': 2^-59 (0.008364 + 2^-15) < 1.08 2^-66, times r^4
 *   others   the low parts of 1/24 + ..., 1/6 + ..., 1/2 + ..., v and r v are below 2^-57, 2^-54, 2^-53, 2^-52 and 2^-57;
 *            they round a few times by 2^-53 of that, and rl times each of them is left out: together 2^-103
 * At H these are 5.5, 3.0 and 3.3 times 10^-27: 2^-86.14, and relative to e^r >= 0.978 below 2^-86.1; in v, which is above
 * 0.989, 2^-80.6. Each Fast2Sum adds a number to a larger one. The product with 2^(k/16) = T (1 + tl), known within 2^-106.8,
 * adds less than 2^-102. |lo| <= 3.3 2^-53 |hi|. On 40,000 numbers, of which a quarter has |r| = H, the error reaches
 * 2^-86.2; that of v reaches 2^-80.65 on 3 million. */
#pragma once

#include "exp_dd.h"

#define RM_EXP_WIDE_ERR 0x1p-86
#define RM_EXPM1_WIDE_ERR 0x1p-80

/* a + b = s, for a that is larger than b, and numbers of two parts. */
RM_FN vf64 rm_exp_wide_sum(double ah, double al, vf64 bh, vf64 bl, vf64 *l) {
  vf64 e, h = vf64_fast_two_sum(vf64_set1(ah), bh, &e);
  *l = vf64_add(vf64_add(e, vf64_set1(al)), bl);
  return h;
}
/* a b. */
RM_FN vf64 rm_exp_wide_product(vf64 ah, vf64 al, vf64 bh, vf64 bl, vf64 *l) {
  vf64 h = vf64_mul(ah, bh);
  *l = vf64_mad(ah, bl, vf64_mad(al, bh, vf64_mul_err(ah, bh, h)));
  return h;
}

/* x + xl = k ln2/16 + r, and e^r - 1 = ph + pl. */
RM_FN void rm_expm1_wide(vf64 x, vf64 xl, vi64 *k, vf64 *ph, vf64 *pl) {
  const vf64 magic = vf64_set1(0x1.8p52), lo = vf64_set1(RM_EXP_STEP_LO);
  const vf64 z = vf64_mad(x, vf64_set1(RM_EXP_INV_STEP), magic), kd = vf64_sub(z, magic);
  *k = vf64_bits(z);
  vf64 be, e, l;
  const vf64 a = vf64_nmad(kd, vf64_set1(RM_EXP_STEP_HI), x), p = vf64_mul(kd, lo);
  const vf64 b = vf64_two_sum(xl, vf64_neg(p), &be), rh = vf64_two_sum(a, b, &e);
  const vf64 rest = vf64_mad(kd, vf64_set1(RM_EXP_STEP_LO2), vf64_mul_err(kd, lo, p));
  const vf64 rl = vf64_add(e, vf64_sub(be, rest)), s = vf64_mul(rh, rh);
  const vf64 q12 = vf64_mad(rh, vf64_set1(rm_exp_wide_q[2]), vf64_set1(rm_exp_wide_q[1]));
  const vf64 q34 = vf64_mad(rh, vf64_set1(rm_exp_wide_q[4]), vf64_set1(rm_exp_wide_q[3]));
  const vf64 q = vf64_mad(s, vf64_mad(s, vf64_set1(rm_exp_wide_q[5]), q34), q12);
  vf64 h = vf64_mul(rh, vf64_mad(rh, q, vf64_set1(rm_exp_wide_q[0])));
  h = rm_exp_wide_sum(0x1.5555555555555p-5, 0x1.5555555555555p-59, h, vf64_set1(0.0), &l);
  h = rm_exp_wide_product(rh, rl, h, l, &l);
  h = rm_exp_wide_sum(0x1.5555555555555p-3, 0x1.5555555555555p-57, h, l, &l);
  h = rm_exp_wide_product(rh, rl, h, l, &l);
  h = rm_exp_wide_sum(0.5, 0.0, h, l, &l);
  h = rm_exp_wide_product(rh, rl, h, l, &l);
  h = rm_exp_wide_sum(1.0, 0.0, h, l, &l);
  *ph = rm_exp_wide_product(rh, rl, h, l, pl);
}

/* t (1 + tl) (1 + ph + pl). */
RM_FN void rm_exp_wide_times(vf64 t, vf64 tl, vf64 ph, vf64 pl, vf64 *hi, vf64 *lo) {
  vf64 l, h = rm_exp_wide_sum(1.0, 0.0, ph, pl, &l);
  *hi = vf64_mul(t, h);
  *lo = vf64_mad(t, vf64_mad(tl, h, l), vf64_mul_err(t, h, *hi));
}

/* hi + lo = e^(x + xl) within RM_EXP_WIDE_ERR of it, for |x| <= 670, |xl| < 2^-42. */
RM_FN void rm_exp_wide(vf64 x, vf64 xl, vf64 *hi, vf64 *lo) {
  vi64 k;
  vf64 ph, pl;
  rm_expm1_wide(x, xl, &k, &ph, &pl);
  rm_exp_wide_times(rm_exp_scale(k), vf64_lookup16(rm_exp_t_lo, k), ph, pl, hi, lo);
}
