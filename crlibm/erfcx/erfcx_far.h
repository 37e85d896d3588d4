/* erfcx of large arguments by its asymptotic series, in binary64 and in double-double; what log_ndtr takes the logarithm of
 * as well.
 *
 * W(a) = exp(a^2) erfc(a) = 1/(sqrt(pi) a) (1 - y + 3 y^2 - 15 y^3 + 105 y^4 - ...), y = 1/(2 a^2). The terms alternate in
 * sign, and what is left out after any of them is below the next one (a > 0). half: of a = x/sqrt(2), W(a)/2 = 1/(sqrt(2 pi)
 * x) times the same sum with y = 1/x^2; else of a = x. */
#pragma once

#include "../simd/machine.h"
#include "erfcx_tables.h"

/* (2k - 1)!!, with the sign of its term. */
RM_TABLE double rm_erfcx_far_terms[11] = {1.0,     -1.0,      3.0,       -15.0,       105.0,      -945.0,
                                          10395.0, -135135.0, 2027025.0, -34459425.0, 654729075.0};

/* For 9.3 <= x <= 2^300, or 13.1 with half: y < 2^-7.4. The terms from y^11 on are below 2^(33.7 - 81.9); quotient, constant
 * and roundings, each of a sum with falling terms, below 2^-49: within 2^-47. */
RM_FN vf64 rm_erfcx_far_eval(vf64 x, int half) {
  vf64 r;
  const vf64 v = vf64_quotient(vf64_set1(1.0), x, &r), y = vf64_mul(vf64_mul(v, v), vf64_set1(half ? 1.0 : 0.5));
  vf64 s = vf64_set1(rm_erfcx_far_terms[10]);
  RM_UNROLL for (int k = 9; k >= 0; k--) s = vf64_mad(s, y, vf64_set1(rm_erfcx_far_terms[k]));
  return vf64_mul(vf64_mul(v, vf64_set1(half ? RM_ERFCX_FAR_HALF : RM_ERFCX_FAR)), s);
}

/* hi + lo within err, |lo| <= 2^-18 hi, for 27 <= x <= 2^500, or 38.8 with half: y < 2^-10.5.
 *
 * 1/x = v + vl: p = x v and 1 - p are exact in two parts, and the square of the quotient's error, 2^-103, is left out. With u
 * = 2^-53, relative to the result:
 *   s          y^2 (3 - 15 y + ...) < 2^-19.4: 7u of it for the square of a rounded y, the sum's last steps and the product
 *   left out   from y^10 on, below 2^(29.3 - 105)
 *   sums       1 - y in two parts exactly; of parts below 2^-19.4 the roundings of two sums, of the product with low, two
 *              sums behind the products, and that of lo + err in the rounding test: 6u of it
 * Sum below 13 2^-72.4 + 2^-75 < 2^-68.6; parts of size 2^-52 round by 2^-103. (Where y is below 2^-968, its square's error
 * is not exact, nor does it matter.) */
#define RM_ERFCX_FAR_DD_ERR RM_BOUND(0x1p-68)
RM_FN void rm_erfcx_far_dd(vf64 x, int half, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), scale = vf64_set1(half ? 1.0 : 0.5);
  const vf64 c = vf64_set1(half ? RM_ERFCX_FAR_HALF : RM_ERFCX_FAR);
  const vf64 cl = vf64_set1(half ? RM_ERFCX_FAR_HALF_LO : RM_ERFCX_FAR_LO);
  vf64 r, he;
  const vf64 v = vf64_quotient(one, x, &r), p = vf64_mul(x, v);
  const vf64 vl = vf64_mul(vf64_sub(vf64_sub(one, p), vf64_mul_err(x, v, p)), v);
  const vf64 w = vf64_mul(v, v), y = vf64_mul(w, scale);
  const vf64 yl = vf64_mul(vf64_mad(vf64_add(v, v), vl, vf64_mul_err(v, v, w)), scale);
  vf64 s = vf64_set1(rm_erfcx_far_terms[9]);
  RM_UNROLL for (int k = 8; k >= 2; k--) s = vf64_mad(s, y, vf64_set1(rm_erfcx_far_terms[k]));
  const vf64 h = vf64_fast_two_difference(one, y, &he);
  const vf64 low = vf64_mad(vf64_mul(y, y), s, vf64_sub(he, yl));
  const vf64 m = vf64_mul(v, c), ml = vf64_add(vf64_mul_err(v, c, m), vf64_mad(v, cl, vf64_mul(vl, c)));
  *hi = vf64_mul(m, h);
  *lo = vf64_mad(m, low, vf64_mad(ml, h, vf64_mul_err(m, h, *hi)));
  *err = vf64_mul(*hi, vf64_set1(RM_ERFCX_FAR_DD_ERR));
}
