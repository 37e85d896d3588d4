/* atan2 for f32 and the 16-bit formats, evaluated in binary64: atan's core (atan_b64.h) with both coordinates, no quotient
 * before the reduction. Its bound holds for y and x of 24 bits; pi minus the angle, for x < 0, adds 2^-52. */
#pragma once

#include "../atan/atan_b64.h"

#define RM_ATAN2_B64_ERR RM_ATAN_B64_ERR

/* Finite y and x, not both 0; else NaN (every path multiplies an infinity or 1/0 by 0). x = 0 would have no ratio of bits:
 * there a tiny number stands for it. */
RM_FN vf64 rm_atan2_eval(vf64 y, vf64 x) {
  vf64 a = vf64_abs(y), b = vf64_abs(x);
  vi64 j = rm_atan_sector(rm_atan_ratio(a, vf64_max(b, vf64_set1(0x1p-500))));
  vf64 c = vf64_lookup16(rm_atan_cos, j), s = vf64_lookup16(rm_atan_sin, j);
  vf64 v = rm_atan_turned(vf64_nmad(a, c, vf64_mul(b, s)), vf64_mad(a, s, vf64_mul(b, c)), j);
  v = vf64_select(vf64_lt(x, vf64_set1(0.0)), vf64_sub(vf64_set1(rm_atan_pi[0]), v), v);
  return vf64_copysign(v, y);
}
