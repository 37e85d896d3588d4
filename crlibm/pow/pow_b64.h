/* pow for f32 and the 16-bit formats, evaluated in binary64: |x|^y = e^z, z = y log|x|.
 *
 * log|x| by the reduction and table of log_b64.h, x = 2^k m, r = m c_j - 1 exact, |r| <= 2^-5, with a longer polynomial:
 * k ln2 - log c_j + r + r^2 P(r). Relative error of L = log|x| in u = 2^-53. The interval that holds 1 has k = 0, c_j = 1 and
 * only the last two lines. Outside it |L| >= 0.0157, and |L| >= 0.34 where k != 0:
 *   k ln2      RN(ln2) is 0.31u off; without FMA the product rounds: |k ln2| <= 2.04 |L|, k != 0           2.7u
 *   -log c_j   rounded: |log c_j| <= |L| + 0.0318: 3.1u where k = 0, else                                  1.1u
 *   w = both   exact where k = 0, else |w| <= 1.1 |L|                                                      1.1u
 *   w + r      |w + r| <= |L| + r^2/2                                                                      1.1u
 *   r^2 P      3.1u of it and a product's rounding without FMA, below 2^-10.9; P: 2^-50.27 r^2             0.6u
 *   last sum                                                                                               1.0u
 * Sum below 7.6u where k != 0, 5.8u where k = 0. The product z = y L adds 1u; e^z is off by |z| times that: 87.3 8.6u, below
 * 2^-43.44. rm_exp_eval adds 2^-45. Sum below 2^-43.02 < RM_POW_B64_ERR. */
#pragma once

#include "../exp/exp_b64.h"
#include "../log/log_b64.h"
#include "pow_tables.h"

#define RM_POW_B64_ERR RM_BOUND(0x1p-43)
#define RM_POW_EXPONENT_ERR (8.6 * 0x1p-53)

/* y log a within 8.6u relatively, for positive normal a of at most 24 bits; for any positive normal a within 2^-46. */
RM_FN vf64 rm_pow_exponent(vf64 a, vf64 y) {
  vf64 k, m;
  vi64 j;
  rm_log_reduce(a, &k, &m, &j);
  vf64 r = vf64_mad(m, vf64_lookup16(rm_log_c, j), vf64_set1(-1.0));
  vf64 w = vf64_mad(k, vf64_set1(RM_LOG_LN2), vf64_lookup16(rm_log_l, j));
  vf64 r2 = vf64_mul(r, r);
  vf64 p01 = vf64_mad(r, vf64_set1(rm_pow_p32[1]), vf64_set1(rm_pow_p32[0]));
  vf64 p23 = vf64_mad(r, vf64_set1(rm_pow_p32[3]), vf64_set1(rm_pow_p32[2]));
  vf64 p45 = vf64_mad(r, vf64_set1(rm_pow_p32[5]), vf64_set1(rm_pow_p32[4]));
  vf64 p67 = vf64_mad(r, vf64_set1(rm_pow_p32[7]), vf64_set1(rm_pow_p32[6]));
  vf64 p = vf64_mad(r2, vf64_mad(r2, vf64_mad(r2, p67, p45), p23), p01);
  return vf64_mul(y, vf64_mad(r2, p, vf64_add(w, r)));
}
