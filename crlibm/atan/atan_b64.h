/* The angle of a direction for f32 and the 16-bit formats, evaluated in binary64: the core of atan, atan2.
 *
 * The direction (b, a), a, b >= 0, is turned back by that of a table, (C_j, S_j): v = angle_j - atan t, where
 * t = (b S_j - a C_j) / (b C_j + a S_j), |t| <= 0.0994; atan t = t + t^3 P(t^2). The sector j is found without a division:
 * the difference of the bits of a and b is a piecewise linear logarithm of a/b, four bits of which are j (atan_gen.py).
 *
 * Error, relative to v, for a and b of 24 bits:
 *   numerator, denominator  exact: multiples of 2^-36 times the larger of a and b, with 40 bits; one term in sectors 0, 15
 *   t                       2^-41.9 |t| (vf64_reciprocal) and a rounding
 *   P                       2^-37.13 |t|^3
 *   roundings of t^3 P      4 2^-53 0.0034 |t|; of the two sums: 2^-52
 * Sum: sector 0, |t| <= 0.09375, v > 0.997 |t|: 2^-41.58; the others, v >= 0.083: 2^-41.3. RM_ATAN_B64_ERR is above. */
#pragma once

#include "../simd/undecided.h"
#include "atan_tables.h"

#define RM_ATAN_B64_ERR RM_BOUND(0x1p-41)

/* The table index (its low four bits) of a ratio. NaN and negative numbers count as small. */
RM_FN vi64 rm_atan_sector(vf64 ratio) {
  return vi64_srl(vf64_bits(vf64_min(vf64_max(ratio, vf64_set1(0x1p-4)), vf64_set1(15.0))), 51);
}

/* The number of the bits of a minus those of b plus those of 1: the piecewise linear a/b, for a, b in [2^-960, 2^500],
 * b >= 2^-500; for a = 0 tiny, negative or NaN. */
RM_FN vf64 rm_atan_ratio(vf64 a, vf64 b) {
  return vf64_from_bits(vi64_add(vi64_sub(vf64_bits(a), vf64_bits(b)), vi64_set1(INT64_C(1023) << 52)));
}

/* angle_j - atan(numerator / denominator). */
RM_FN vf64 rm_atan_turned(vf64 numerator, vf64 denominator, vi64 j) {
  vf64 t = vf64_mul(numerator, vf64_reciprocal(denominator)), u = vf64_mul(t, t);
  vf64 p = vf64_mad(u, vf64_set1(rm_atan_p32[3]), vf64_set1(rm_atan_p32[2]));
  p = vf64_mad(u, vf64_mad(u, p, vf64_set1(rm_atan_p32[1])), vf64_set1(rm_atan_p32[0]));
  return vf64_sub(vf64_lookup16(rm_atan_angle, j), vf64_mad(vf64_mul(t, u), p, t));
}

/* atan |x|: atan is odd, the loop gives the sign back. Beyond 2^60 the result is within 2^-60 of pi/2. */
RM_FN vf64 rm_atan_eval(vf64 x) {
  vf64 a = vf64_min(vf64_abs(x), vf64_set1(0x1p60));
  vi64 j = rm_atan_sector(a);
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  return rm_atan_turned(vf64_nmad(a, c, s), vf64_mad(a, s, c), j);
}
