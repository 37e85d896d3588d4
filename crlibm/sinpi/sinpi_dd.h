/* The core of sinpi, cospi and tanpi in double-double, for the fast phase of f64 and the accurate phase of every format:
 * that of sin_dd.h.
 *
 * |x| = k/16 + f, k the nearest integer; f is exact, |f| <= 1/32. r = pi f = rh + rl: f RN(pi) exactly in two parts, and f
 * PI_LO, which is rounded, as its sum with the low part is, by less than 2^-105 |r| each; as much is missing in PI_LO. So r
 * is off by less than 2^-103 |r|, and the result, where it is small because r is, by as much relatively, elsewhere by less:
 * sin_dd.h's 2^-90 |hi|, of which it uses 2^-98, has room for that. Fast2Sum then makes |rl| <= 2^-53 |rh|, as is asked
 * there. Where |f| is below 2^-968, the error of the product underflows by less than 2^-1070: beside a sine or cosine that
 * is not small this is nothing, and arguments so small are left out elsewhere. */
#pragma once

#include "../sin/sin_dd.h"
#include "sinpi_b64.h"

#define RM_SINPI_LO (RM_SIN_STEP_LO * 16.0) /* RN(pi - RN(pi)) */

/* pi a = k pi/16 + rh + rl for 0 <= a <= RM_SINPI_MAX; k is in the low bits of *k. */
RM_FN void rm_sinpi_reduce_dd(vf64 a, vi64 *k, vf64 *rh, vf64 *rl) {
  const vf64 pi = vf64_set1(RM_SIN_PI), f = rm_sinpi_rest(a, 0x1.8p48, k);
  const vf64 p = vf64_mul(f, pi);
  *rh = vf64_fast_two_sum(p, vf64_mad(f, vf64_set1(RM_SINPI_LO), vf64_mul_err(f, pi, p)), rl);
}

/* hi + lo = sin(pi |x| + turn pi/2) within err, its sign changed where the top bit of flip is set. */
RM_FN void rm_sinpi_turned_dd(vf64 x, int turn, vi64 flip, vf64 *hi, vf64 *lo, vf64 *err) {
  vi64 k;
  vf64 rh, rl;
  rm_sinpi_reduce_dd(vf64_abs(x), &k, &rh, &rl);
  k = vi64_add(k, vi64_set1(8 * turn));
  rm_sin_reduced_dd(k, rh, rl, vf64_set1(0.0), hi, lo, err);
  flip = vi64_xor(flip, vi64_sll(k, 59));
  *hi = rm_sin_flip(*hi, flip);
  *lo = rm_sin_flip(*lo, flip);
}

/* hi + lo = sin(pi x) within err, hi with the sign that a zero has, for x = 0 or 2^-960 <= |x| <= RM_SINPI_MAX. */
RM_FN void rm_sinpi_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_sinpi_turned_dd(x, 0, vf64_bits(x), hi, lo, err);
  *hi = rm_sinpi_zero(*hi, x);
}
