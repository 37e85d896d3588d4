/* pow for the 16-bit formats in binary32 (simd/b32.h), positive x: 2^t, t = y log2 x. x = 2^k m, m in [0.75, 1.5), log2 m =
 * 2/ln2 s (1 + s^2 P(s^2)), s = (m - 1)/(m + 1), |s| <= 1/5; 2^t as in exp2_b32_half.h.
 *
 * Errors, u = 2^-24. m - 1 and m + 1 are exact, since m has 11 bits. log2 m, relatively: the quotient u, RN24(2/ln2) 0.5u,
 * their product u, s^2 P < 0.014 0.5u with its error, the last step u: 4u. k + log2 m: |log2 m| is at most 1.41 times the
 * sum, where k = -1: 5.7u, and u. t: 7.7u |t|, by ln2 of the result: 5.4u |t|. exp2: 4.2u and two roundings. |t| < 22 in f16:
 * 125u, below 2^-17; |t| < 92 in bf16: 503u, below 2^-15. Other lanes are NaN, and those of x that are not positive and
 * normal. */
#pragma once

#include "../exp/exp_b32_half.h"
#include "pow_tables.h"

#define RM_HALF_pow RM_B32
#define RM_HALF_KNOWN_pow 0
#define RM_HALF_ERR_pow(format) RM_BOUND((format) == RM_F16 ? 0x1p-17f : 0x1p-15f)

#if RM_B32

RM_FN vf32 rm_pow_b32_half(const vf32 *v, const int format) {
  const vf32 x = v[0], one = vf32_set1(1.0f), magic = vf32_set1(0x1.8p23f), m = vf32_mantissa(x);
  const vf32 k = vi32_to_f32(vi32_sra(vi32_sub(vf32_bits(x), vi32_set1(0x3f400000)), 23));
  const vf32 s = vf32_div(vf32_sub(m, one), vf32_add(m, one)), s2 = vf32_mul(s, s),
             w = vf32_mul(s, vf32_set1(RM_POW_B32_HALF_2_LN2));
  vf32 p = vf32_fma(s2, vf32_set1(rm_pow_b32_half_p[3]), vf32_set1(rm_pow_b32_half_p[2]));
  p = vf32_fma(s2, vf32_fma(s2, p, vf32_set1(rm_pow_b32_half_p[1])), vf32_set1(rm_pow_b32_half_p[0]));
  const vf32 t = vf32_mul(v[1], vf32_add(k, vf32_fma(vf32_mul(w, s2), p, w)));
  const vf32 z = vf32_add(t, magic), r = vf32_sub(t, vf32_sub(z, magic));
  const vf32 y = rm_exp_b32_half_normal(r, z, rm_exp2_b32_half_p), nan = vf32_set1(RM_NAN_16);
  const vm32 special = vi32_geu(vi32_sub(vf32_bits(x), vi32_set1(0x00800000)), vi32_set1(0x7f000000));
  const vf32 limit = vf32_set1(format == RM_F16 ? 22.0f : 92.0f);
  return vf32_select(special, nan, vf32_select(vf32_lt(vf32_abs(t), limit), y, nan));
}

#endif
