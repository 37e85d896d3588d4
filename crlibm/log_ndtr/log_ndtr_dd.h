/* log_ndtr in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * The formulas of log_ndtr_b64.h. W/2, resp. v, is made to two parts by Fast2Sum; log(W/2) is rm_log_near_dd of these two
 * parts, where the table never gives 1, since W/2 <= 1/2; log(1 - v) the same of 1 - v, by v. Errors, u = 2^-53:
 *   L          that of log_dd.h, 12u |t| + 2^-80 L, t its cubic term, which has room for one rounding of lo by 1.1u |t|
 *   x < 0      W's own error, divided by W >= 1/(1.254 (1 + |x|)); -x^2/2 in two parts exactly, and added to L's high part by
 *              TwoSum: two more roundings of lo, 1.1u |t| each, and 2^-105 of the sum
 *   x >= 0     that of v times 1/(1 - v) <= 1 + 2v
 * Sum below 5/4 of L's bound, the second part, and 2^-104 of the result. (1/W(a) <= sqrt(pi)/2 (a + sqrt(a^2 + 2)), by
 * Komatsu's bound W(a) >= 2/sqrt(pi)/(a + sqrt(a^2 + 2)).) */
#pragma once

#include "../erfcx/erfcx_far.h"
#include "../log/log_dd.h"
#include "../ndtr/ndtr_dd.h"

#define RM_LOG_NDTR_DD_MIN -38.9
#define RM_LOG_NDTR_DD_MAX 36.3

/* hi + lo = -(q + ql) + (lh + ll) within err, for a logarithm within lerr and a relative error `part` of what it was taken
 * of. */
RM_FN void rm_log_ndtr_sum_dd(vf64 q, vf64 ql, vf64 lh, vf64 ll, vf64 lerr, vf64 part, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 low;
  const vf64 sum = vf64_two_sum(vf64_neg(q), lh, &low);
  *hi = sum;
  *lo = vf64_add(low, vf64_sub(ll, ql));
  *err = vf64_mad(vf64_abs(sum), vf64_set1(RM_BOUND(0x1p-104)), vf64_mad(lerr, vf64_set1(1.25), part));
}

/* hi + lo = log_ndtr x within err, for -38.9 <= x <= 36.3: 1 - v is exact enough, as v > 2^-960. */
RM_FN void rm_log_ndtr_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 a = vf64_min(vf64_set1(38.9), vf64_abs(x)), b = vf64_min(vf64_set1(36.3), a);
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), half = vf64_set1(0.5);
  const vm64 negative = vf64_lt(x, zero);
  const vf64 m = vf64_mul(a, half), q = vf64_mul(m, a), mb = vf64_mul(b, half), qb = vf64_mul(mb, b);
  vf64 w, wl, werr, v, vl, verr, lh, ll, lerr, tl;
  rm_ndtr_erfcx_dd(a, &w, &wl, &werr);
  w = vf64_mul(half, w), wl = vf64_mul(half, wl);
  rm_erfc_scaled_dd(qb, vf64_mul_err(mb, b, qb), w, wl, vf64_mul(half, werr), &v, &vl, &verr);
  w = vf64_fast_two_sum(w, wl, &wl);
  v = vf64_neg(vf64_fast_two_sum(v, vl, &vl)), vl = vf64_neg(vl);
  const vf64 t = vf64_fast_two_sum(one, v, &tl);
  const vf64 xh = vf64_select(negative, w, t), xl = vf64_select(negative, wl, vf64_add(tl, vl));
  rm_log_near_dd(xh, xl, vf64_select(negative, zero, v), vf64_select(negative, zero, vl), &lh, &ll, &lerr);
  const vf64 of_w = vf64_mul(werr, vf64_mad(a, vf64_set1(1.254), vf64_set1(1.254)));
  const vf64 of_v = vf64_nmad(vf64_add(v, v), verr, verr);
  rm_log_ndtr_sum_dd(vf64_select(negative, q, zero), vf64_select(negative, vf64_mul_err(m, a, q), zero), lh, ll, lerr,
                     vf64_select(negative, of_w, of_v), hi, lo, err);
}

/* The same for -2^400 <= x <= -38.8, W/2 by its asymptotic series, within 2^-68. */
RM_FN void rm_log_ndtr_far_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 a = vf64_neg(x), m = vf64_mul(a, vf64_set1(0.5)), q = vf64_mul(m, a);
  vf64 w, wl, werr, lh, ll, lerr;
  rm_erfcx_far_dd(a, 1, &w, &wl, &werr);
  w = vf64_fast_two_sum(w, wl, &wl);
  rm_log_dd_of(w, wl, &lh, &ll, &lerr);
  rm_log_ndtr_sum_dd(q, vf64_mul_err(m, a, q), lh, ll, lerr, vf64_set1(2 * RM_ERFCX_FAR_DD_ERR), hi, lo, err);
}
