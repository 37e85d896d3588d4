/* exp, exp2 and exp10 for f32 and the 16-bit formats, evaluated in binary64: 2^(c x/16) with c = 16/ln2, 16 and 16 log2(10).
 *
 * c x = k + d, k the nearest integer, |d| <= 1/2 (1 + 2^-20); the result is 2^(k/16) (1 + d Q(d)), 2^(k/16) by table.
 *
 * Error, relative to the result, for |c x| <= 2^11. One unit of d is ln2/16 < 2^-4.52 of the result:
 *   constant  |c x| times the relative error of RN(c), at most 2^-54.14   < 2^-47.66     (0 for exp2)
 *   product   without FMA c x is rounded, half a unit is 2^-43            < 2^-47.52     (0 with FMA, and for exp2)
 *   d         the subtraction cancels: exact when it follows a rounded product, else below 2^-58
 *   Q         2^-45.66 |d| e^(ln2/32) (rm_exp_q32)                        < 2^-46.62
 *   the rest  table, Estrin steps (times |d|), final operation            < 2^-51
 * Sum: 2^-47.66 + 2^-47.52 + 2^-46.62 + 2^-51 < 2^-45.5 < RM_EXP_B64_ERR. */
#pragma once

#include "../simd/undecided.h"
#include "exp_tables.h"

#define RM_EXP_B64_ERR RM_BOUND(0x1p-45)

/* 2^(k/16), 16 k + j in the low bits of k. */
RM_FN vf64 rm_exp_scale(vi64 k) { return vf64_from_bits(vi64_add(vi64_lookup16(rm_exp_t, k), vi64_sll(k, 48))); }

/* (e^r - 1)/r within 2^-41.13 + 2^-52, for |r| <= ln2/32 (1 + 2^-20). For functions that need e^r - 1 itself. */
RM_FN vf64 rm_exp_p(vf64 r) {
  vf64 r2 = vf64_mul(r, r);
  vf64 a = vf64_mad(r, vf64_set1(rm_exp_p32[1]), vf64_set1(rm_exp_p32[0]));
  vf64 b = vf64_mad(r, vf64_set1(rm_exp_p32[3]), vf64_set1(rm_exp_p32[2]));
  return vf64_mad(r2, vf64_mad(r2, vf64_set1(rm_exp_p32[4]), b), a);
}

/* 2^(c x/16) within RM_EXP_B64_ERR, for the three c above and |c x| <= 2^11. */
RM_FN vf64 rm_exp_sixteenths(vf64 x, double c) {
  const vf64 magic = vf64_set1(0x1.8p52); /* the low bits of x + magic hold the integer nearest to x */
  vf64 z = vf64_mad(x, vf64_set1(c), magic);
  vf64 d = vf64_mad(x, vf64_set1(c), vf64_sub(magic, z));
  vf64 s = rm_exp_scale(vf64_bits(z)), d2 = vf64_mul(d, d);
  vf64 q01 = vf64_mad(d, vf64_set1(rm_exp_q32[1]), vf64_set1(rm_exp_q32[0]));
  vf64 q23 = vf64_mad(d, vf64_set1(rm_exp_q32[3]), vf64_set1(rm_exp_q32[2]));
  vf64 q = vf64_mad(d2, vf64_mad(d2, vf64_set1(rm_exp_q32[4]), q23), q01);
  return vf64_mad(vf64_mul(s, d), q, s);
}

RM_FN vf64 rm_exp_eval(vf64 x) { return rm_exp_sixteenths(x, RM_EXP_INV_STEP); }
