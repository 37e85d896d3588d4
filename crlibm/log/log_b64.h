/* log for f32 and the 16-bit formats, evaluated in binary64.
 *
 * x = 2^k m, m in [0.703125, 1.40625), c_j ~ 1/m from a table, r = m c_j - 1, |r| <= 2^-5:
 * log x = k ln2 - log c_j + r + r^2 P(r). The interval that holds 1 has c = 1 and log c = 0: no cancellation near 1.
 *
 * r is exact: m has at most 24 bits, c_j 10, and the subtraction cancels. Error, relative to log x:
 *   P         2^-37.97 r^2. When k = 0 and c_j = 1: relative to r(1 - 2^-5), below 2^-42.9. Otherwise |log x| >= 2^-6
 *             (x is at least 1/64 from 1): 2^-37.97 2^-10 2^6 < 2^-41.9
 *   constants |k| 2^-54 + 2^-54 for ln2 and log c_j, roundings of w, w + r and the final sum: each below 2^-52 |log x| 2^3
 * Sum below 2^-41.8 by these estimates; the largest over the 16 intervals, taken one by one, is 2^-42.9 (j = 9, r = 2^-5).
 * RM_LOG_B64_ERR uses the former. */
#pragma once

#include "../simd/undecided.h"
#include "log_tables.h"

#define RM_LOG_B64_ERR RM_BOUND(0x1p-41)

/* x = 2^k m for positive normal x; j indexes the tables. */
RM_FN void rm_log_reduce(vf64 x, vf64 *k, vf64 *m, vi64 *j) {
  vi64 bits = vf64_bits(x), t = vi64_sub(bits, vi64_set1(RM_LOG_OFFSET));
  *k = vi64_to_f64(vi64_sra(t, 52));
  *m = vf64_from_bits(vi64_sub(bits, vi64_and(t, vi64_set1((int64_t)0xfff0000000000000u))));
  *j = vi64_srl(t, 48);
}

/* w + log(1+r), w = 0 or |w| >= 2^-6. */
RM_FN vf64 rm_log_sum(vf64 w, vf64 r) {
  vf64 r2 = vf64_mul(r, r);
  vf64 a = vf64_mad(r, vf64_set1(rm_log_p32[1]), vf64_set1(rm_log_p32[0]));
  vf64 b = vf64_mad(r, vf64_set1(rm_log_p32[3]), vf64_set1(rm_log_p32[2]));
  vf64 c = vf64_mad(r, vf64_set1(rm_log_p32[5]), vf64_set1(rm_log_p32[4]));
  return vf64_mad(r2, vf64_mad(r2, vf64_mad(r2, c, b), a), vf64_add(w, r));
}

RM_FN vf64 rm_log_eval(vf64 x) {
  vf64 k, m;
  vi64 j;
  rm_log_reduce(x, &k, &m, &j);
  vf64 r = vf64_mad(m, vf64_lookup16(rm_log_c, j), vf64_set1(-1.0));
  return rm_log_sum(vf64_mad(k, vf64_set1(RM_LOG_LN2), vf64_lookup16(rm_log_l, j)), r);
}

/* log(1 + u), u > -1, 1 + u < 2^1023; a relative error of u is added times |u/((1 + u) log(1 + u))|. x = RN(1 + u); where
 * the table gives 1 (w = 0), r = u itself, so that the relative error stays as above. Elsewhere |log| >= 2^-6, and the
 * roundings of x and r, each at most 2^-53, add 2^-46. */
RM_FN vf64 rm_log1p_of(vf64 u) {
  vf64 k, m;
  vi64 j;
  rm_log_reduce(vf64_add(u, vf64_set1(1.0)), &k, &m, &j);
  vf64 r = vf64_mad(m, vf64_lookup16(rm_log_c, j), vf64_set1(-1.0));
  vf64 w = vf64_mad(k, vf64_set1(RM_LOG_LN2), vf64_lookup16(rm_log_l, j));
  return rm_log_sum(w, vf64_select(vf64_eq(w, vf64_set1(0.0)), u, r));
}
