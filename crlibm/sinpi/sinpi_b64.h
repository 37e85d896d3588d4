/* The core of sinpi, cospi and tanpi for f32 and the 16-bit formats, evaluated in binary64, and sinpi itself.
 *
 * |x| = k + r, k the nearest whole number, for tanpi the nearest multiple of 1/2; r is exact. sin(pi r) is sin's polynomial
 * of RN(pi r), |pi r| <= pi/2.
 *
 * Error relative to the result: the polynomial 2^-43.52, Horner's steps and the last product below 2^-50 (sin_b64.h); pi and
 * its product with r 2^-52 together, of which sin(pi r) has at most as much. Sum below 2^-43.4 < RM_SINPI_B64_ERR. */
#pragma once

#include "../sin/sin_b64.h"

#define RM_SINPI_B64_ERR RM_SIN_B64_ERR
#define RM_SINPI_MAX 0x1p46 /* up to here; all numbers from 2^53 on are even */

/* a - the multiple of magic's last place that is nearest, exactly, for 0 <= a <= RM_SINPI_MAX; *k has that multiple in its
 * low bits. */
RM_FN vf64 rm_sinpi_rest(vf64 a, double magic, vi64 *k) {
  const vf64 m = vf64_set1(magic), z = vf64_add(a, m);
  *k = vf64_bits(z);
  return vf64_sub(a, vf64_sub(z, m));
}

/* y, or where it is a zero, a zero of the sign of x: IEEE 754 has sinPi(n) = +0 and sinPi(-n) = -0 for n > 0. */
RM_FN vf64 rm_sinpi_zero(vf64 y, vf64 x) {
  const vf64 zero = vf64_set1(0.0);
  return vf64_select(vf64_eq(y, zero), vf64_copysign(zero, x), y);
}

RM_FN vf64 rm_sinpi_eval(vf64 x) {
  vi64 k;
  const vf64 r = rm_sinpi_rest(vf64_abs(x), 0x1.8p52, &k), v = rm_sin_polynomial(vf64_mul(r, vf64_set1(RM_SIN_PI)));
  return rm_sinpi_zero(rm_sin_flip(v, vi64_xor(vi64_sll(k, 63), vf64_bits(x))), x);
}

/* Lanes beyond the reduction, NaN included. */
RM_FN vm64 rm_sinpi_beyond(vf64 x) { return vm64_not(vf64_le(vf64_abs(x), vf64_set1(RM_SINPI_MAX))); }

/* The lanes that are even numbers of 2^53 and more: the result is y. */
RM_FN vm64 rm_sinpi_decide_even(vf64 x, vf64 even, vf64 *y) {
  const vm64 large =
      vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x)), vi64_set1((INT64_C(1023) + 53) << 52)), vi64_set1(INT64_C(971) << 52));
  *y = vf64_select(large, even, *y);
  return large;
}
