/* acos for f32 and the 16-bit formats, evaluated in binary64 with asin's reduction (asin_b64.h).
 *
 * r = asin s within 2^-42.05. |x| <= 1/2: acos x = pi/2 - r or pi/2 + r, at least pi/3 >= 2 r. x > 1/2: acos x = 2 r.
 * x < -1/2: pi - 2 r >= 2 pi/3 >= 4 r. The sums add 2^-52. Sum below 2^-42 = RM_ACOS_B64_ERR. */
#pragma once

#include "../asin/asin_b64.h"

#define RM_ACOS_B64_ERR RM_BOUND(0x1p-42)

RM_FN vf64 rm_acos_eval(vf64 x) {
  vm64 small;
  vf64 r = rm_asin_reduced(vf64_abs(x), &small);
  vf64 far = vf64_select(vf64_lt(x, vf64_set1(0.0)), vf64_set1(RM_ASIN_PI), vf64_set1(0.0));
  vf64 base = vf64_select(small, vf64_set1(RM_ASIN_PI / 2.0), far);
  vf64 part = vf64_select(small, vf64_neg(r), vf64_add(r, r));
  return vf64_add(base, vf64_from_bits(vi64_xor(vf64_bits(part), vi64_and(vf64_bits(x), vi64_set1(INT64_MIN)))));
}
