/* atan2 for the 16-bit formats in binary32 (simd/b32.h). Of a = |y|, b = |x|, the smaller over the larger is tan of an angle
 * in [0, pi/4]. q is that quotient, or, from tan(pi/8) on, (small - large)/(a + b), the tangent of the angle less pi/4: |q|
 * <= tan(pi/8) (1 + 2^-20). The result is c pi/4 +- atan q, c an integer from 0 to 4, with y's sign.
 *
 * Errors relative to the result, u = 2^-24. small - large and a + b are exact: the numbers have 11 bits, and the exponents of
 * the two differ by 2 at most. t = q + (q s) P(s), s = q^2: the quotient u, P within 2^-24 of the whole, the roundings of s,
 * of the product and of Horner's steps count where |s P| < 0.06: 4u 0.06, and the last u: 3.3u |t|. With c = 0 that is all.
 * With c >= 1 the result is at least pi/8 >= |t|: the sum with c LO rounds by u |t|, the last step by u; HI + LO are off by
 * 2^-49. Sum below 5.4u < 2^-21.
 *
 * For NaN, two zeros and two infinities q is NaN. In bf16 a + b can overflow: then the result is NaN. A subnormal q is off by
 * half a unit, t by one. */
#pragma once

#include "../atan/atan_tables.h"
#include "../simd/b32.h"

#define RM_HALF_atan2 RM_B32
#define RM_HALF_KNOWN_atan2 0
#define RM_HALF_ERR_atan2(format) RM_BOUND(0x1p-21f)

#if RM_B32

RM_FN vf32 rm_atan2_b32_half(const vf32 *v, const int format) {
  const vf32 y = v[0], x = v[1], a = vf32_abs(y), b = vf32_abs(x), zero = vf32_set1(0.0f);
  const vf32 small = vf32_min(a, b), large = vf32_max(a, b), sum = vf32_add(a, b);
  const vm32 flat =
      vf32_lt(small, vf32_mul(large, vf32_set1(0x1.a8279ap-2f))); /* RN24(tan(pi/8)); false for NaN: sum is then NaN */
  const vf32 q = vf32_div(vf32_select(flat, small, vf32_sub(small, large)), vf32_select(flat, large, sum));
  const vf32 s = vf32_mul(q, q);
  vf32 p = vf32_fma(s, vf32_set1(rm_atan_b32_half_p[4]), vf32_set1(rm_atan_b32_half_p[3]));
  p = vf32_fma(s, p, vf32_set1(rm_atan_b32_half_p[2]));
  p = vf32_fma(s, vf32_fma(s, p, vf32_set1(rm_atan_b32_half_p[1])), vf32_set1(rm_atan_b32_half_p[0]));
  vf32 t = vf32_fma(vf32_mul(q, s), p, q), c = vf32_select(flat, zero, vf32_set1(1.0f));
  const vm32 steep = vf32_lt(b, a), left = vf32_lt(x, zero);
  c = vf32_select(steep, vf32_sub(vf32_set1(2.0f), c), c); /* pi/2 less the angle */
  t = vf32_select(steep, vf32_sub(zero, t), t);
  c = vf32_select(left, vf32_sub(vf32_set1(4.0f), c), c); /* pi less the angle */
  t = vf32_select(left, vf32_sub(zero, t), t);
  t = vf32_fma(c, vf32_set1(RM_ATAN_B32_HALF_PI_4_HI), vf32_fma(c, vf32_set1(RM_ATAN_B32_HALF_PI_4_LO), t));
  if (format == RM_BF16) t = vf32_select(vf32_lt(sum, vf32_set1(0x1p127f)), t, vf32_set1(RM_NAN_16));
  return vf32_copysign(t, y);
}

#endif
