/* logaddexp for the 16-bit formats in binary32 (simd/b32.h): big + L, big = max(x, y), L = log(1 + e), e = e^d, d = -|x - y|.
 * e as in exp_b32_half.h; L = 2 s (1 + s^2 P(s^2)) with s = e/(2 + e) <= 1/3.
 *
 * Errors, u = 2^-24, those of e, s and L relative. d is rounded by u |d|. e: that, 2^-22.06 of the polynomial, k (ln2 -
 * RN24(ln2)) below 0.05 |d| u, roundings 2u: (6 + 1.05 |d|) u. s: its relative error is at most that of e; two roundings: (8
 * + 1.05 |d|) u. L: the slope of log((1 + s)/(1 - s)), relatively, is at most 1.09; s^2 P < 0.05, whose roundings and error
 * count 0.5u, the last step u: E = (10.3 + 1.15 |d|) u. The sum is off by err = E L and its rounding, u |sum|: little of it
 * where big is large, all of it where the sum cancels. So the test is made here. With U the distance of two numbers of the
 * format, sum = T + t, T one of them, 0 <= t < U in magnitude: T + U/2 is a midpoint, and the next ones are U/4 or more
 * beyond the ends of [T, T + U]. Where |t - U/2| > 2 err, err < U/4, and no midpoint is within err of the sum. Other lanes
 * become NaN, and so do those of subnormal f16 results, for which U differs.
 *
 * d is cut at -86. Beyond, L and the tail are below 2^-124. In bf16 the sum is big itself where |big| >= 2^-99, below whose
 * numbers half a unit is 2^-124 or more; it is off by L alone, which u |sum| covers. Smaller ones become NaN. In f16 the
 * result is big, or 0 when big is 0. NaN and two infinities of one sign give NaN. */
#pragma once

#include "../exp/exp_b32_half.h"
#include "logaddexp_tables.h"

#define RM_HALF_logaddexp RM_B32
#define RM_HALF_KNOWN_logaddexp 0
#define RM_HALF_ERR_logaddexp(format) 0.0f

#if RM_B32

RM_FN vf32 rm_logaddexp_b32_half(const vf32 *v, const int format) {
  const vf32 big = vf32_max(v[0], v[1]), far = vf32_sub(vf32_set1(0.0f), vf32_abs(vf32_sub(v[0], v[1])));
  const vf32 d = vf32_max(vf32_set1(-86.0f), far),
             magic = vf32_set1(0x1.8p23f); /* NaN stays NaN: its low bits are 0, as e needs them */
  const vf32 z = vf32_fma(d, vf32_set1(RM_EXP_B32_INV_LN2), magic),
             r = vf32_fnma(vf32_sub(z, magic), vf32_set1(RM_EXP_B32_LN2), d);
  const vf32 e = rm_exp_b32_half_normal(r, z, rm_exp_b32_half_p);
  const vf32 s = vf32_div(e, vf32_add(e, vf32_set1(2.0f))), s2 = vf32_mul(s, s), twice = vf32_add(s, s);
  vf32 p = vf32_fma(s2, vf32_set1(rm_logaddexp_b32_half_p[4]), vf32_set1(rm_logaddexp_b32_half_p[3]));
  p = vf32_fma(s2, p, vf32_set1(rm_logaddexp_b32_half_p[2]));
  p = vf32_fma(s2, vf32_fma(s2, p, vf32_set1(rm_logaddexp_b32_half_p[1])), vf32_set1(rm_logaddexp_b32_half_p[0]));
  const vf32 tail = vf32_fma(vf32_mul(twice, s2), p, twice), sum = vf32_add(big, tail);
  /* 2 err: 2 (10.5 + 1.25 |d|) u L + 2.25 u |sum| */
  const vf32 slope = vf32_set1((float)RM_BOUND(0x1.4p-23f)), constant = vf32_set1((float)RM_BOUND(0x1.5p-20f)),
             size = vf32_abs(sum);
  const vf32 err2 =
      vf32_fma(size, vf32_set1((float)RM_BOUND(0x1.2p-23f)), vf32_mul(tail, vf32_fma(vf32_abs(d), slope, constant)));
  const int32_t half = format == RM_F16 ? 0x1000 : 0x8000;
  const vf32 middle = vf32_from_bits(vi32_add(vi32_and(vf32_bits(sum), vi32_set1(-2 * half)), vi32_set1(half)));
  vf32 min = vf32_set1(0x1p-14f), measured = size;
  if (format == RM_BF16) { /* in the place of subnormal results: those that the cut spoils */
    min = vf32_select(vf32_lt(far, vf32_set1(-86.0f)), vf32_set1(0x1p-99f), vf32_set1(0.0f));
    measured = vf32_abs(big);
  }
  const vf32 nan = vf32_set1(RM_NAN_16), y = vf32_select(vf32_lt(measured, min), nan, sum);
  return vf32_select(vf32_lt(err2, vf32_abs(vf32_sub(sum, middle))), y, nan);
}

#endif
