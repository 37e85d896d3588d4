/* erfc in double-double, for the fast phase of f64 and the accurate phase of every format; the core of gelu and of its
 * gradient as well.
 *
 * erfc a = exp(-a^2) W(a), a = |x| cut to 25.8, erfc x = 2 - erfc a for x < 0. W(a) = sum_{n<6} c_n t^n + v, v = t^6 P(t), P
 * of degree 13, t = a - c, c + 2 the quarter of an octave nearest to a + 2, the lower one at a tie: a just below 1/4 has the
 * sum 9/4, and its distance from c = 1/2 would need 54 bits. So c = 0, or a lies between c/2 and 2c: t is exact.
 * c_0 .. c_5 in two parts, Horner's steps in double-double. With u = 2^-53:
 *   fit        2^-67.48 W (rm_erfcx_p64)
 *   v          roundings below 5u|v| (erfc_gen.py), |v| < 2^-13.2 W
 *   steps      each |c_n| exceeds the rest that is added to it (erfc_gen.py), so Fast2Sum is exact; low parts below 2^-104
 *   exp        its own bound, RM_EXP_DD_ERR (exp_dd.h); -a^2 is passed in two parts, exactly, or for |a| < 2^-484, without
 *              FMA, within 2^-960
 *   product    |lo| <= 2^-18 |hi|: three roundings of low parts (el w without FMA, and two sums; e wl is smaller), one more
 *              in 2 - erfc a, one of lo + err: 5 2^-71
 * Error below 8u |v| exp(-a^2) + (2^-67.48 + 5 2^-71) hi, and the part of exp. */
#pragma once

#include "../exp/exp_dd.h"
#include "erfc_tables.h"

#define RM_ERFC_DD_ERR_V RM_BOUND(0x1p-50)
#define RM_ERFC_DD_ERR RM_BOUND(0x1.2p-67)

/* h + l = W(a) within err, for 0 <= a < 28. */
RM_FN void rm_erfc_w_dd(vf64 a, vf64 *h, vf64 *l, vf64 *err) {
  const vf64 two = vf64_set1(2.0);
  vi64 bits = vi64_add(vf64_bits(vf64_add(a, two)), vi64_set1((INT64_C(1) << 49) - 1)), j = vi64_srl(bits, 50);
  vf64 c = vf64_sub(vf64_from_bits(vi64_and(bits, vi64_set1(-(INT64_C(1) << 50)))), two);
  vf64 t = vf64_sub(a, c), t2 = vf64_mul(t, t), t4 = vf64_mul(t2, t2);
#define RM_C(n) vf64_lookup16(rm_erfcx_p64 + 16 * (n), j)
  vf64 p0 = vf64_mad(t, RM_C(7), RM_C(6)), p2 = vf64_mad(t, RM_C(9), RM_C(8)), p4 = vf64_mad(t, RM_C(11), RM_C(10));
  vf64 p6 = vf64_mad(t, RM_C(13), RM_C(12)), p8 = vf64_mad(t, RM_C(15), RM_C(14)), p10 = vf64_mad(t, RM_C(17), RM_C(16));
  vf64 p12 = vf64_mad(t, RM_C(19), RM_C(18));
  vf64 q0 = vf64_mad(t2, p2, p0), q4 = vf64_mad(t2, p6, p4), q8 = vf64_mad(t2, p10, p8);
  vf64 high = vf64_mad(t4, vf64_mad(t4, vf64_mad(t4, p12, q8), q4), q0), low = vf64_set1(0.0);
  vf64 v = vf64_mul(vf64_mul(t4, t2), high);
  RM_UNROLL
  for (int n = 5; n >= 0; n--) { /* (high, low) <- c_n + t (high, low) */
    vf64 cn = RM_C(n), m = vf64_mul(high, t), me = vf64_mul_err(high, t, m);
    vf64 e;
    high = vf64_fast_two_sum(cn, m, &e);
    low = vf64_mad(low, t, vf64_add(me, vf64_add(e, vf64_lookup16(rm_erfcx_p64_lo + 16 * n, j))));
  }
#undef RM_C
  *h = high;
  *l = low;
  *err = vf64_mad(high, vf64_set1(RM_ERFC_DD_ERR), vf64_mul(vf64_abs(v), vf64_set1(RM_ERFC_DD_ERR_V)));
}

/* hi + lo = exp(-(q + ql)) (w + wl), w + wl known within werr; the error of exp is added. */
RM_FN void rm_erfc_scaled_dd(vf64 q, vf64 ql, vf64 w, vf64 wl, vf64 werr, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 e, el, ee;
  rm_exp_sum_dd(vf64_neg(q), vf64_neg(ql), &e, &el, &ee);
  *hi = vf64_mul(e, w);
  *lo = vf64_mad(e, wl, vf64_mad(el, w, vf64_mul_err(e, w, *hi)));
  *err = vf64_mad(ee, vf64_abs(w), vf64_mul(e, werr));
}

/* (hi, lo) <- c - (hi, lo) where m; c = 1 or 2, c >= |hi|. The low part rounds by at most 2^-53 |lo| and 2^-106 c. */
RM_FN void rm_erfc_reflect_dd(vm64 m, double c, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 h = vf64_sub(vf64_set1(c), *hi);
  vf64 l = vf64_sub(vf64_sub(vf64_sub(vf64_set1(c), h), *hi), *lo);
  *hi = vf64_select(m, h, *hi);
  *lo = vf64_select(m, l, *lo);
  *err = vf64_select(m, vf64_add(*err, vf64_set1(RM_BOUND(0x1p-103))), *err);
}

/* hi + lo = erfc x within err, for x <= 25.8. */
RM_FN void rm_erfc_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 a = vf64_min(vf64_set1(25.8), vf64_abs(x)), q = vf64_mul(a, a), w, wl, werr;
  rm_erfc_w_dd(a, &w, &wl, &werr);
  rm_erfc_scaled_dd(q, vf64_mul_err(a, a, q), w, wl, werr, hi, lo, err);
  rm_erfc_reflect_dd(vf64_lt(x, vf64_set1(0.0)), 2.0, hi, lo, err);
}
