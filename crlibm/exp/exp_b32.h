/* exp in binary32 (simd/b32.h), and the core of exp2 and exp10: e^(x - m) = 2^n T_j (1 + r + q), 32 n + j = k; m = 0 for
 * exp, |m| < 2^-17 for the others, whose argument has two parts.
 *
 * T_j = 2^(j/32) e^(D_j) is a binary32 number within 2^-38.3 relatively, D_j a multiple of 2^-29 below 2^-13 found by search
 * (Gal, ACM TOMS 1991). k = 32 x/ln2 rounded, r = x - k C1 - D_j, |r| <= 1.005 ln2/64, C1 = RN(ln2/32). x is a multiple of
 * 2^-30 unless k = 0, and so are the products k C1: the subtractions are exact. C2 = RN(ln2/32 - C1), |k C2| < 2^-22.
 * q = (r - l)^2 P(r - l) - l, l = k C2 + m. With u = 2^-24, errors of hi + lo = T (1 + r + q) relative to T < 2, |x| <= 88:
 *   T             2^-38.3                      q, square and product   |q| < 2^-13.9: 3u|q| = 2^-36.3
 *   P             2^-41.5 (exp_b32_gen.py)  l, its rounding         2^-46 (exp2, exp10: 2^-41.5)
 *   T r - (hi - T)  2^-48                      lo + T q                u 2^-13: 2^-38; lo +- err: 2^-38 T/T
 * Sum below 2^-35.2, times T: 2^-34.2; the largest found is 2^-35. err = 2^-34.2. For exp2 and exp10 m's own error, 2^-41,
 * counts too. */
#pragma once

#include "../simd/b32.h"
#include "exp_b32_tables.h"

#define RM_B32_exp RM_B32

#define RM_EXP_B32_ERR RM_BOUND(0x1.bp-35f)

#if RM_B32

/* x c = the result - *m, for c = high + low, |x c| < 90: the error of *m is below 2^-41 + 2^-49 |x c|. */
RM_FN vf32 rm_exp_b32_times(vf32 x, float high, float low, vf32 *m) {
  vf32 y = vf32_mul(x, vf32_set1(high));
  *m = vf32_fnma(x, vf32_set1(low), vf32_fnma(x, vf32_set1(high), y));
  return y;
}

/* (hi + lo) 2^floor(k) = e^(x - m) within RM_EXP_B32_ERR 2^floor(k), hi in [0.98, 2.03]; k in 32nds. */
RM_FN void rm_exp_b32_parts(vf32 x, vf32 m, vf32 *k, vf32 *hi, vf32 *lo) {
  const vf32 magic = vf32_set1(0x1.8p18f); /* the low bits of x + magic hold the multiple of 1/32 nearest to x */
  vf32 z = vf32_fma(x, vf32_set1(RM_EXP_B32_INV_LN2), magic);
  *k = vf32_sub(z, magic);
  vf32 d = vf32_lookup32(rm_exp_b32_d, vf32_bits(z)), t = vf32_lookup32(rm_exp_b32_t, vf32_bits(z));
  vf32 r = vf32_sub(vf32_fnma(*k, vf32_set1(RM_EXP_B32_LN2), x), d), l = vf32_fma(*k, vf32_set1(RM_EXP_B32_LN2_LO), m);
  vf32 s = vf32_sub(r, l);
  vf32 p = vf32_fma(s, vf32_set1(rm_exp_b32_p[2]), vf32_set1(rm_exp_b32_p[1]));
  p = vf32_fma(s, p, vf32_set1(rm_exp_b32_p[0]));
  vf32 q = vf32_fms(vf32_mul(s, s), p, l);
  *hi = vf32_fma(t, r, t);
  *lo = vf32_fma(t, q, vf32_fma(t, r, vf32_sub(t, *hi)));
}

/* A result that is not normal is left to binary64; so is every x beyond the range of the magic number. */
RM_FN vm32 rm_exp_b32_sum(vf32 x, vf32 m, vf32 *y) {
  vf32 k, hi, lo;
  rm_exp_b32_parts(x, m, &k, &hi, &lo);
  vm32 undecided = vf32_undecided(hi, lo, RM_EXP_B32_ERR, y);
  *y = vf32_scale(*y, k);
  return vm32_or(undecided, vf32_not_normal(*y));
}
RM_FN vm32 rm_exp_b32(vf32 x, vf32 *y) { return rm_exp_b32_sum(x, vf32_set1(0.0f), y); }

#endif
