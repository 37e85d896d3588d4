/* cos for f32 and the 16-bit formats, evaluated in binary64: cos((n + 1/2) pi + r) = (-1)^(n+1) sin r. The error is that of
 * sin_b64.h.
 *
 * k = n + 1/2 = floor(|x|/pi) + 1/2: |x|/pi + magic is a multiple of 2^-16, within 2^-16; its bits below 1 are replaced by
 * 1/2. So |r| <= pi/2 (1 + 2^-14). The odd magic makes the bit of weight 1 that of n + 1. */
#pragma once

#include "../sin/sin_b64.h"

#define RM_COS_B64_ERR RM_SIN_B64_ERR
#define RM_COS_MAGIC (0x1.8p36 + 1.0)

/* |x|/pi + magic to k + magic. */
RM_FN vf64 rm_cos_half(vf64 z) {
  return vf64_from_bits(vi64_or(vi64_and(vf64_bits(z), vi64_set1(-INT64_C(0x10000))), vi64_set1(0x8000)));
}

RM_FN vf64 rm_cos_eval(vf64 x) {
  const vf64 magic = vf64_set1(RM_COS_MAGIC);
  vf64 a = vf64_abs(x), z = rm_cos_half(vf64_mad(a, vf64_set1(RM_SIN_INV_PI), magic));
  vf64 r = rm_sin_reduce(a, vf64_sub(z, magic));
  return rm_sin_flip(rm_sin_polynomial(r), vi64_sll(vf64_bits(z), 47));
}

/* The same for f32 numbers 2^18 <= |x| < 2^128: see rm_sin_chunks. */
RM_FN vf64 rm_cos_eval_large(vf64 x) {
  const vf64 odd = vf64_set1(RM_COS_MAGIC), magic = vf64_set1(0x1.8p52);
  vf64 y[3];
  rm_sin_chunks(vf64_abs(x), y);
  vf64 z0 = rm_cos_half(vf64_add(y[0], odd)), s = vf64_add(vf64_sub(y[0], vf64_sub(z0, odd)), y[1]);
  vf64 z1 = vf64_add(s, magic), f = vf64_add(vf64_sub(s, vf64_sub(z1, magic)), y[2]);
  vi64 flip = vi64_xor(vi64_sll(vf64_bits(z0), 47), vi64_sll(vf64_bits(z1), 63));
  return rm_sin_flip(rm_sin_polynomial(vf64_mul(f, vf64_set1(RM_SIN_PI))), flip);
}
