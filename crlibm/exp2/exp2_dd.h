/* exp2 in double-double: exp_dd.h with a reduction of its own.
 *
 * x = k/16 + d, k the nearest integer, exactly; r = d ln2 = rh + rl:
 *   d HI          exact in two parts, |d HI| < 2^-5.52, its error at most 2^-59
 *   d LO          |d LO| < 2^-60.2, its rounding and the sum's below 2^-111, constant 2^-5 2^-109
 * so |rl| < 2^-59 + 2^-60.2 < 1.44 2^-59, as exp_dd.h asks. For a tiny d the error of the product underflows: r
 * is off by less than 2^-1070, which is negligible beside e^r = 1. */
#pragma once

#include "../exp/exp_dd.h"

/* For |x| < 2^11. */
RM_FN void rm_exp2_reduce_dd(vf64 x, vi64 *k, vf64 *rh, vf64 *rl) {
  const vf64 magic = vf64_set1(0x1.8p48), ln2 = vf64_set1(RM_EXP2_LN_HI); /* the last bit of x + magic is 1/16 */
  vf64 z = vf64_add(x, magic);
  vf64 d = vf64_sub(x, vf64_sub(z, magic));
  *k = vf64_bits(z);
  *rh = vf64_mul(d, ln2);
  *rl = vf64_mad(d, vf64_set1(RM_EXP2_LN_LO), vf64_mul_err(d, ln2, *rh));
}
