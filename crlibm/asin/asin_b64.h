/* asin for f32 and the 16-bit formats, evaluated in binary64, and what acos shares with it.
 *
 * a = |x|. Up to 1/2, asin a = s + s^3 P(s^2) with s = a; beyond, asin a = pi/2 - 2 asin s, s^2 = (1 - a)/2. In both cases
 * s^2 is the smaller one of a^2 and (1 - a)/2, and s <= 1/2.
 *
 * Error relative to asin s, u = 2^-53: P 2^-40.06 s^2 <= 2^-42.06; s^2 exact (a has 24 bits), s 2^-51; five roundings on
 * the way of parts below 0.06 s, s + s^3 P: together below 2^-42.05. asin a >= pi/6 >= asin s where a > 1/2, so 2 asin s
 * counts twice there: 2^-41.05 + 2^-52 < RM_ASIN_B64_ERR. */
#pragma once

#include "../simd/undecided.h"
#include "asin_tables.h"

#define RM_ASIN_B64_ERR RM_BOUND(0x1p-41)

/* asin s within 2^-42.05, relatively; *small: a <= 1/2. a > 1 gives any value. */
RM_FN vf64 rm_asin_reduced(vf64 a, vm64 *small) {
  const vf64 half = vf64_set1(0.5);
  vf64 reciprocal, u = vf64_min(vf64_mul(a, a), vf64_nmad(a, half, half));
  *small = vf64_le(a, half);
  vf64 s = vf64_select(*small, a, vf64_root(u, &reciprocal));
  vf64 u2 = vf64_mul(u, u);
#define RM_C(n) vf64_set1(rm_asin_p32[n])
  vf64 even = vf64_mad(u2, vf64_mad(u2, vf64_mad(u2, vf64_mad(u2, RM_C(8), RM_C(6)), RM_C(4)), RM_C(2)), RM_C(0));
  vf64 odd = vf64_mad(u2, vf64_mad(u2, vf64_mad(u2, RM_C(7), RM_C(5)), RM_C(3)), RM_C(1));
#undef RM_C
  return vf64_mad(vf64_mul(s, u), vf64_mad(u, odd, even), s);
}

/* asin |x|: asin is odd, the loop gives the sign back. */
RM_FN vf64 rm_asin_eval(vf64 x) {
  vm64 small;
  vf64 r = rm_asin_reduced(vf64_abs(x), &small);
  return vf64_select(small, r, vf64_nmad(vf64_set1(2.0), r, vf64_set1(RM_ASIN_PI / 2.0)));
}
