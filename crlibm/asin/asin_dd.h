/* asin in double-double, for the fast phase of f64 and the accurate phase of every format: the angle of (sqrt(1 - x^2),
 * |x|), by atan's core.
 *
 * 1 - x^2 = h + hl: x^2 = p + pe exactly, h = 1 - p with its error by Fast2Sum; their sum rounds by 2^-53 |hl|.
 * |hl| <= 2^-53, and it is not small against h near |x| = 1, so the root is that of RN(h + hl): sh within 2^-51.9, its
 * residual (h - sh^2) + hl exact but for 2^-77 h, since |h - sh^2| <= 2^-26 h, times half a reciprocal within 2^-27: sl is
 * off by 2^-77 sh, and the square of the correction is left out: 2^-102. The angle's relative error is at most that of the
 * root. sl is one of the low parts that atan_dd.h counts; the sum with the others rounds like them. */
#pragma once

#include "../atan/atan_dd.h"

/* sh + sl = sqrt(1 - x^2) within 2^-77, |x| <= 1. */
RM_FN void rm_asin_other_side_dd(vf64 x, vf64 *sh, vf64 *sl) {
  const vf64 one = vf64_set1(1.0);
  vf64 p = vf64_mul(x, x), hl, h = vf64_fast_two_difference(one, p, &hl);
  hl = vf64_sub(hl, vf64_mul_err(x, x, p));
  vf64 reciprocal, s = vf64_root(vf64_add(h, hl), &reciprocal);
  vf64 residual = vf64_sub(hl, vf64_mul_err(s, s, h));
  *sh = s;
  *sl = vf64_mul(vf64_mul(vf64_set1(0.5), reciprocal), residual);
}

/* hi + lo = asin |x| within err; |x| is 0 or 2^-960 <= |x| <= 1. */
RM_FN void rm_asin_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 a = vf64_abs(x), sh, sl, nh, nl, dh, dl;
  rm_asin_other_side_dd(a, &sh, &sl);
  vi64 j = rm_atan_sector(rm_atan_ratio(a, vf64_max(sh, vf64_set1(0x1p-500))));
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  rm_atan_turn_dd(a, sh, c, s, &nh, &nl, &dh, &dl);
  rm_atan_turned_dd(nh, vf64_nmad(sl, s, nl), dh, vf64_mad(sl, c, dl), j, hi, lo, err);
}
