/* log in binary32 (simd/b32.h): x = 2^k m, m in [0.75, 1.5), c_j ~ 1/m from a table, r = m c_j - 1, |r| <= 2^-5:
 * log x = (k ln2 - log c_j) + r - r^2/2 + r^3 P(r). Around 1 c_j = 1: no cancellation.
 *
 * r is exact: c_j is a multiple of 1/32 where m < 1 is one of 2^-24, of 1/64 where m >= 1 is one of 2^-23. So is w = k LN2_HI
 * + L_HI, a multiple of 2^-16 below 2^7. w + r and the subtraction of r^2/2 are Fast2Sums, r^2 is kept in two parts
 * (log_b32_gen.py checks |w| >= |r| or w = 0). Errors, with u = 2^-24:
 *   around 1, relative to r:     r^3 P 2u r^2/3 = 2^-34.6; P 2^-25 r^2 = 2^-35.8; the sum of the low parts u 2^-11: 2^-35
 *   k = 0, c_j != 1, |log x| >= 2^-6.1:    r^3 P 2^-16.6 2u = 2^-39.6; the low parts 2^-17 u, twice: 2^-40; relatively below
 *                                          2^-33.1
 *   k != 0, |log x| >= 0.4:      k LN2_LO + L_LO, rounded, u 2^-17 |k|, relative to 0.69 |k| - 0.29: below 2^-39; the rest
 *                                less than before
 * Sum below 2^-33 relatively. */
#pragma once

#include "../simd/b32.h"
#include "log_b32_tables.h"

#define RM_B32_log RM_B32

#define RM_LOG_B32_ERR RM_BOUND(0x1p-33f)
#define RM_LOG_B32_TIMES_ERR RM_BOUND(0x1p-32f)

#if RM_B32

/* x = 2^k m for positive normal x; j indexes the tables. */
RM_FN void rm_log_b32_reduce(vf32 x, vf32 *k, vf32 *r, vi32 *j) {
  vi32 t = vi32_sub(vf32_bits(x), vi32_set1(0x3f400000)); /* 0.75 */
  *k = vi32_to_f32(vi32_sra(t, 23));
  *j = vi32_srl(t, 18);
  *r = vf32_fms(vf32_mantissa(x), vf32_lookup32(rm_log_b32_c, *j), vf32_set1(1.0f));
}

/* NaN, infinity, and all that is not positive and normal. */
RM_FN vm32 rm_log_b32_special(vf32 x) {
  return vi32_geu(vi32_sub(vf32_bits(x), vi32_set1(0x00800000)), vi32_set1(0x7f000000));
}

/* w + low = k ln2 - log c_j. */
RM_FN void rm_log_b32_constant(vf32 k, vi32 j, vf32 *w, vf32 *low) {
  *w = vf32_fma(k, vf32_set1(RM_LOG_B32_LN2_HI), vf32_lookup32(rm_log_b32_hi, j));
  *low = vf32_fma(k, vf32_set1(RM_LOG_B32_LN2_LO), vf32_lookup32(rm_log_b32_lo, j));
}

/* hi + lo = w + low + log(1 + r). */
RM_FN void rm_log_b32_sum(vf32 w, vf32 low, vf32 r, vf32 *hi, vf32 *lo) {
  const vf32 half = vf32_set1(0.5f);
  vf32 s = vf32_mul(r, r), s_low = vf32_fms(r, r, s);
  vf32 p = vf32_fma(r, vf32_set1(rm_log_b32_p[3]), vf32_set1(rm_log_b32_p[2]));
  p = vf32_fma(r, vf32_fma(r, p, vf32_set1(rm_log_b32_p[1])), vf32_set1(rm_log_b32_p[0]));
  vf32 g = vf32_add(w, r), g_low = vf32_sub(r, vf32_sub(g, w));
  *hi = vf32_fnma(half, s, g);
  vf32 h_low = vf32_fnma(half, s, vf32_sub(g, *hi));
  low = vf32_add(vf32_fnma(half, s_low, low), vf32_add(g_low, h_low));
  *lo = vf32_fma(vf32_mul(r, s), p, low);
}

RM_FN void rm_log_b32_parts(vf32 x, vf32 *hi, vf32 *lo) {
  vf32 k, r, w, low;
  vi32 j;
  rm_log_b32_reduce(x, &k, &r, &j);
  rm_log_b32_constant(k, j, &w, &low);
  rm_log_b32_sum(w, low, r, hi, lo);
}

RM_FN vm32 rm_log_b32(vf32 x, vf32 *y) {
  vf32 hi, low;
  rm_log_b32_parts(x, &hi, &low);
  vm32 undecided = vf32_undecided_by(hi, low, vf32_mul(hi, vf32_set1(RM_LOG_B32_ERR)), y);
  return vm32_or(undecided, rm_log_b32_special(x));
}

/* log x (ch + cl) for ch + cl = 1/ln2 or 1/ln10, the lanes as above. With log x = h + l: h ch is exact in two parts, l ch and
 * its sum with the rest round once. |l| is at most 2^-16.4, |log x| >= 2^-6.1 where it is largest: 2^-34.3 relatively, and as
 * much in Ziv's rounding test. Sum below 2^-33 + 2 2^-34.3 < 2^-32. */
RM_FN vm32 rm_log_b32_times(vf32 x, float ch, float cl, vf32 *y) {
  const vf32 c = vf32_set1(ch);
  vf32 h, l;
  rm_log_b32_parts(x, &h, &l);
  vf32 hi = vf32_mul(h, c), lo = vf32_fma(l, c, vf32_fma(h, vf32_set1(cl), vf32_fms(h, c, hi)));
  vm32 undecided = vf32_undecided_by(hi, lo, vf32_mul(hi, vf32_set1(RM_LOG_B32_TIMES_ERR)), y);
  return vm32_or(undecided, rm_log_b32_special(x));
}

#endif
