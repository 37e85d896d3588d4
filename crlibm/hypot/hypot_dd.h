/* hypot in double-double, for f64.
 *
 * x^2 + y^2 = s + sl: the squares are exact in two parts, TwoSum of their high parts is exact, the low parts are added. With
 * r = vf64_rsqrt(s) (2^-40), h = RN(s r): sqrt(s + sl) = h + d/(2h) - ..., d = s + sl - h^2, |d| < 2^-38.9 s:
 *   sl        |sl| <= 2^-51.9 s, three roundings of parts not above that: 2^-103
 *   s - h^2   h^2 exact in two parts, the difference of the high parts exact; two roundings below 2^-38.9 s: 2^-90
 *   series    d^2/(8 h^3), relative to h: 2^-80.8
 *   r/2       for 1/(2h), within 2^-38.9 of it, times a correction below 2^-39.9 h: 2^-78.8
 *   product, lo + err   2^-92 each
 * Sum below 2^-78.4 < RM_HYPOT_DD_ERR.
 *
 * Domain: 2^-860 <= s < 2^1020, else the lane is special. Then |x|, |y| < 2^510. When the smaller square is below 2^-968, the
 * low part of its square is lost or wrong by less than 2^-1070 in all: below 2^-210 s. */
#pragma once

#include "hypot_b64.h"

#define RM_HYPOT_DD_ERR RM_BOUND(0x1p-78)

/* hi + lo = hypot(x, y) within err. */
RM_FN void rm_hypot_dd(vf64 x, vf64 y, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 x2 = vf64_mul(x, x), y2 = vf64_mul(y, y), sl;
  vf64 s = vf64_two_sum(x2, y2, &sl);
  sl = vf64_add(sl, vf64_add(vf64_mul_err(x, x, x2), vf64_mul_err(y, y, y2)));
  vf64 r = vf64_rsqrt(s), h = vf64_mul(s, r), h2 = vf64_mul(h, h);
  vf64 d = vf64_add(vf64_sub(vf64_sub(s, h2), vf64_mul_err(h, h, h2)), sl);
  *hi = h;
  *lo = vf64_mul(d, vf64_mul(r, vf64_set1(0.5)));
  *err = vf64_mul(h, vf64_set1(RM_HYPOT_DD_ERR));
}
