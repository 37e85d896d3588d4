/* The core of sin, cos and tan for f32 and the 16-bit formats, evaluated in binary64, and sin itself.
 *
 * x = k pi + r, k a whole number (sin), an odd multiple of 1/2 (cos) or any multiple of 1/2 (tan); |r| <= pi/2 (1 + 2^-14),
 * for tan half of that. sin r = r P(r^2).
 *
 * Error of r relative to r, for |x| <= RM_SIN_B64_MAX, that is |2k| < 2^18, k != 0; for k = 0, r = x:
 *   x - k HI      exact: HI has 35 bits; f32 numbers |x| >= 2^-10 and k HI are multiples of 2^-34, and |x - k HI| < 2. (A
 *                 smaller |x| has k = 1/2 in cos: 2^-53, but then |r| > 1.5, and cos x changes by 2^-62 relatively.)
 *   k LO          |k LO| < 2^-20.5: rounded by 2^-74, with FMA 0; LO itself: 2^17 2^-91.8
 *   r             |r| >= 2^-27.84 (sin_gen.py: no f32 number below 2^19 is nearer to a multiple of pi/2): both make 2^-45.4
 *                 relatively; the last subtraction 2^-53
 * An error of r counts r cot r <= 1 times in sin r. P: 2^-43.52; Horner's steps, |r^2| <= 2.47, and the product: below 2^-50.
 * Sum below 2^-43.1 < RM_SIN_B64_ERR, which is for sin and cos. */
#pragma once

#include "../simd/undecided.h"
#include "sin_tables.h"

#define RM_SIN_B64_ERR RM_BOUND(0x1p-43)
#define RM_SIN_B64_MAX 409600.0 /* below 2^18 pi/2 */

/* x - k pi; k = 0 leaves even -0 as it is. */
RM_FN vf64 rm_sin_reduce(vf64 x, vf64 k) {
  return vf64_nmad(k, vf64_set1(RM_SIN_PI_LO), vf64_nmad(k, vf64_set1(RM_SIN_PI_HI), x));
}

/* sin r. */
RM_FN vf64 rm_sin_polynomial(vf64 r) {
  vf64 u = vf64_mul(r, r), p = vf64_set1(rm_sin_p32[6]);
  RM_UNROLL
  for (int i = 5; i >= 0; i--) p = vf64_mad(p, u, vf64_set1(rm_sin_p32[i]));
  return vf64_mul(r, p);
}

/* y with the sign changed where the top bit of flip is set. */
RM_FN vf64 rm_sin_flip(vf64 y, vi64 flip) {
  return vf64_from_bits(vi64_xor(vf64_bits(y), vi64_and(flip, vi64_set1(INT64_MIN))));
}

RM_FN vf64 rm_sin_eval(vf64 x) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 z = vf64_mad(x, vf64_set1(RM_SIN_INV_PI), magic);
  vf64 r = rm_sin_reduce(x, vf64_sub(z, magic));
  return rm_sin_flip(rm_sin_polynomial(r), vi64_sll(vf64_bits(z), 63));
}

/* Larger arguments (Payne and Hanek, 1983): a/pi modulo 2 = y[0] + y[1] + y[2] for f32 numbers 2^18 <= a < 2^128.
 *
 * 1/pi comes without the bits that make multiples of 2, so it depends on the exponent of a: for 2^(18 + 8 g) <= a < 2^(26 + 8
 * g) the bits up to 2^(5 - 8 g), a being a multiple of 2^(8 g - 5).
 *   y[0]   24 + 29 bits: exact; below 2^32
 *   y[1]   24 + 28 bits: exact; below 2^w, -4 <= w <= 3, by the exponent of a, and a multiple of 2^(w-52)
 *   y[2]   below 2^-25: rounded by 2^-79; 2^-79 for the rest of 1/pi
 * The functions take the multiple (whole, odd half, half) nearest to y[0] away, add y[1], which gives s, take the nearest
 * multiple of 1 (tan: 1/2) away and add y[2]. s is exact up to 2^(w+1), which is all of |s| < 1/2 + 2^w for w >= -1, and of
 * |s| < 1/4 + 2^w (tan) for w >= -2. For smaller w, where |s| > 2^(w+1), it is rounded, but at least 1/8 remains: no
 * cancellation. So f = a/pi - k is off by 2^-78 + 2^-50 |f|, and |f| >= 2^-29.21/pi (sin_gen.py): r = pi f is off by 2^-46.5
 * relatively. */
RM_FN void rm_sin_chunks(vf64 a, vf64 y[3]) {
  vi64 g = vi64_srl(vi64_sub(vf64_bits(a), vi64_set1((INT64_C(1023) + 18) << 52)), 55);
  y[0] = vf64_mul(a, vf64_lookup16(rm_sin_inv_pi_0, g));
  y[1] = vf64_mul(a, vf64_lookup16(rm_sin_inv_pi_1, g));
  y[2] = vf64_mul(a, vf64_lookup16(rm_sin_inv_pi_2, g));
}

/* |x|/pi less the nearest multiple of magic's last place; *k has the multiple's parity. */
RM_FN vf64 rm_sin_fraction(vf64 x, vf64 magic, vi64 *k) {
  vf64 y[3];
  rm_sin_chunks(vf64_abs(x), y);
  vf64 z0 = vf64_add(y[0], magic), s = vf64_add(vf64_sub(y[0], vf64_sub(z0, magic)), y[1]);
  vf64 z1 = vf64_add(s, magic), f = vf64_add(vf64_sub(s, vf64_sub(z1, magic)), y[2]);
  *k = vi64_xor(vf64_bits(z0), vf64_bits(z1));
  return f;
}

RM_FN vf64 rm_sin_eval_large(vf64 x) {
  vi64 k;
  vf64 f = rm_sin_fraction(x, vf64_set1(0x1.8p52), &k);
  return rm_sin_flip(rm_sin_polynomial(vf64_mul(f, vf64_set1(RM_SIN_PI))), vi64_xor(vi64_sll(k, 63), vf64_bits(x)));
}

/* The lanes with low < |x| <= high that are decided get the value in `result`. */
RM_FN vm64 rm_sin_decide(vf64 x, double low, double high, vf64 result, vm64 undecided, vf64 *y) {
  const vf64 a = vf64_abs(x);
  vm64 decided = vm64_andnot(vm64_and(vf64_lt(vf64_set1(low), a), vf64_le(a, vf64_set1(high))), undecided);
  *y = vf64_select(decided, result, *y);
  return decided;
}

/* For f32 and bf16 (no f16 number is so large), result = f(x) within rel for RM_SIN_B64_MAX < |x| < 2^128. */
RM_FN vm64 rm_sin_decide_b64(vf64 x, vf64 result, double rel, int format, vf64 *y) {
  vm64 undecided = format == RM_F32 ? vf64_undecided_f32(result, rel) : vf64_undecided_bf16(result);
  return rm_sin_decide(x, RM_SIN_B64_MAX, 0x1.fffffep127, result, undecided, y);
}
