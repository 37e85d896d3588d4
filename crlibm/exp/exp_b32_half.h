/* exp and exp2 for the 16-bit formats in binary32 (simd/b32.h): e^x = 2^k (1 + r P(r)), k the integer nearest to x/ln2, r = x
 * - k RN24(ln2); 2^x with r = x - k.
 *
 * Errors relative to the result, u = 2^-24, |r| <= ln2/2 (1 + 2^-10): the polynomials 2^-22 (exp_b32_gen.py), RN24(ln2) |k|
 * 2^-29, the roundings 2u. A subnormal result of bf16 rounds once more. Below -110, where bf16 numbers go on until r is huge
 * or infinite, the result is 0. */
#pragma once

#include "../simd/b32.h"
#include "exp_b32_tables.h"

#define RM_HALF_exp RM_B32_FULL
#define RM_HALF_KNOWN_exp 1
#define RM_HALF_INPUTS_exp ((struct rm_inputs16){0, 0x4980, 1, {0x1f79, 0x25cf}}) /* |x| <= 11 */
#define RM_HALF_ERR_exp(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_exp(format) ((format) == RM_F16 ? 0x1.ap-22 : 0x1.6p-21)

#if RM_B32

/* 1 + r P(r). */
RM_FN vf32 rm_exp_b32_half_near(vf32 r, const float *p) {
  vf32 q = vf32_fma(r, vf32_set1(p[4]), vf32_set1(p[3]));
  q = vf32_fma(r, q, vf32_set1(p[2]));
  q = vf32_fma(r, q, vf32_set1(p[1]));
  q = vf32_fma(r, q, vf32_set1(p[0]));
  return vf32_fma(r, q, vf32_set1(1.0f));
}
/* (1 + r P(r)) 2^k, a normal number, for z = k + 1.5 2^23, which ends in the integer k. NaN for NaN whose low 9 bits are
 * 0. */
RM_FN vf32 rm_exp_b32_half_normal(vf32 r, vf32 z, const float *p) {
  return vf32_from_bits(vi32_add(vf32_bits(rm_exp_b32_half_near(r, p)), vi32_sll(vf32_bits(z), 23)));
}

#endif
#if RM_B32_FULL

/* (1 + r P(r)) 2^k. */
RM_FN vf32 rm_exp_b32_half_sum(vf32 r, vf32 k, const float *p) { return vf32_scale(rm_exp_b32_half_near(r, p), k); }

RM_FN vf32 rm_exp_b32_half(const vf32 *x, const int format) {
  const vf32 a = format == RM_F16 ? x[0] : vf32_max(vf32_set1(-110.0f), x[0]); /* NaN stays NaN */
  const vf32 k = vf32_integer(vf32_mul(a, vf32_set1(RM_EXP_B32_INV_LN2)));
  return rm_exp_b32_half_sum(vf32_fnma(k, vf32_set1(RM_EXP_B32_LN2), a), k, rm_exp_b32_half_p);
}

#endif
