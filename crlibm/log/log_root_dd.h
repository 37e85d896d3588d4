/* The low part of a square root in double-double, for the logarithms of x + sqrt(x^2 +- 1). */
#pragma once

#include "log_dd.h"

/* sl with s + sl = sqrt(vh + vl) within 2^-101 relatively, |sl| <= 2^-51 s: |vl| <= 2^-52 vh, vh = 0 or 2^-200 <= vh <=
 * 2^200, and s and r from vf64_root(vh, &r); the caller may have moved s nearer to the root.
 *
 * s is within 2^-51.9, so vh - s^2 is below 2^-50.8 vh; its roundings and that of the sum with vl are 2^-103.6 vh each. r,
 * 1/s within 2^-26.9, is improved to 2^-51.4 with the roundings (without FMA s r rounds too, but r is 1/s rounded: 3 2^-53),
 * times |sl| <= 2^-51.4 s: 2^-102.8; sl^2/(2s), left out: 2^-103.8. */
RM_FN vf64 rm_log_root_low(vf64 vh, vf64 vl, vf64 s, vf64 r) {
  vf64 b = vf64_mul(s, s), be = vf64_mul_err(s, s, b);
  vf64 rest = vf64_add(vf64_sub(vf64_sub(vh, b), be), vl);
  r = vf64_mad(r, vf64_nmad(s, r, vf64_set1(1.0)), r);
  return vf64_mul(vf64_mul(vf64_set1(0.5), rest), r);
}
