/* exp for f32 and the 16-bit formats, evaluated in binary64.
 *
 * x = k ln2/16 + r, k an integer, |r| <= ln2/32 (1 + 2^-20); e^x = 2^(k/16) (1 + r P(r)), 2^(k/16) by table.
 *
 * Error, relative to e^x, for |x| <= 88 (|k| <= 2031):
 *   constant  |k| |RN(ln2/16) - ln2/16| <= 2031 2^-58                      < 2^-47.01
 *   product   without FMA k C is rounded, |k C| < 128                     <= 2^-47      (0 with FMA)
 *   r         the subtraction cancels: exact when it follows a rounded product, else below 2^-58
 *   P         2^-41.13 |r| e^-r (rm_exp_p32), |r| < 2^-5.52                < 2^-46.61
 *   the rest  table, Estrin steps (times |r|), final operation             < 2^-51
 * k is RN of x 16/ln2 computed within 2^-41, so |r| stays in the interval of P. An error d in r changes e^x by less than
 * d (1 + 2^-40). Sum: 2^-47.01 + 2^-47 + 2^-46.61 + 2^-51 < 2^-45.2 < RM_EXP_F32_ERR. */
#ifndef RM_EXP_F32_H
#define RM_EXP_F32_H

#include "../simd/undecided.h"
#include "exp_tables.h"

#define RM_EXP_F32_ERR RM_BOUND(0x1p-45)

/* 2^(k/16), 16 k + j in the low bits of k. */
RM_FN vf64 rm_exp_scale(vi64 k) {
  return vf64_from_bits(vi64_add(vi64_lookup16(rm_exp_t, k), vi64_sll(k, 48)));
}

/* (e^r - 1)/r within 2^-41.13 + 2^-52, for |r| <= ln2/32 (1 + 2^-20). */
RM_FN vf64 rm_exp_p(vf64 r) {
  vf64 r2 = vf64_mul(r, r);
  vf64 a = vf64_mad(r, vf64_set1(rm_exp_p32[1]), vf64_set1(rm_exp_p32[0]));
  vf64 b = vf64_mad(r, vf64_set1(rm_exp_p32[3]), vf64_set1(rm_exp_p32[2]));
  return vf64_mad(r2, vf64_mad(r2, vf64_set1(rm_exp_p32[4]), b), a);
}

RM_FN vf64 rm_exp_eval(vf64 x) {
  const vf64 magic = vf64_set1(0x1.8p52); /* the low bits of x + magic hold the integer nearest to x */
  vf64 z = vf64_mad(x, vf64_set1(RM_EXP_INV_STEP), magic);
  vf64 r = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_EXP_STEP), x);
  vf64 s = rm_exp_scale(vf64_bits(z));
  return vf64_mad(vf64_mul(s, r), rm_exp_p(r), s);
}

#endif
