/* expm1 in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * E = e^x - 1 = (s - 1) + s e', e' = e + tl (1 + e), e = e^r - 1 in double-double (exp_dd.h), s (1 + tl) the table's
 * 2^(k/16); x is cut to -60: below, E + 1 < 2^-86.
 *
 * With t = r^3 Q, exp_dd.h bounds the error of e by 12u|t| + 2^-80 [k != 0], u = 2^-53. E is off by s times that. The other
 * steps are double-double operations; k = 0 has s = 1, tl = 0 and m = 0. Otherwise |E| >= 0.0211 max(1, s):
 *   e'         low parts of 2^-52: roundings of 2^-105, tl e below 2^-110: 2^-98.5 |E| together
 *   m = s - 1  with its error me, exactly (TwoSum)
 *   m + s e    Fast2Sum: |m| >= 0.0424 max(1, s)  > s |e|
 *   low parts  me, the product's error and s e' below 2^-52 max(1, s): 2^-97 |E|
 *   reduction  2^-80 s < 2^-74.4 |E|
 * Error below 12u s|t| + 2^-74 |E|, rounding of lo + err (|lo| < 2^-46 |E|) included. Where x^2 underflows, its parts
 * are off by less than 2^-1070, which is negligible beside x; err may then be 0, and the result is x, which is correct. */
#pragma once

#include "../exp/exp_dd.h"

#define RM_EXPM1_DD_ERR_T RM_BOUND(0x1.8p-50) /* 12u, times s |t| */
#define RM_EXPM1_DD_ERR RM_BOUND(0x1p-74) /* times |E| */

/* nh + nl = s (1 + e) (1 + tl) - 1, e = eh + el, s and tl by the table for k; of a zero the sign is lost. For s >= 2^-1/16
 * only, if positive is constant 1: me is 0 up to s = 2^53. */
RM_FN void rm_expm1_scaled_dd(vi64 k, vf64 eh, vf64 el, int positive, vf64 *nh, vf64 *nl, vf64 *s) {
  *s = rm_exp_scale(k);
  vf64 tl = vf64_lookup16(rm_exp_t_lo, k);
  el = vf64_mad(tl, eh, vf64_add(el, tl));
  vf64 me, m = vf64_two_sum(vf64_set1(-1.0), *s, &me);
  vf64 p = vf64_mul(*s, eh), pe = vf64_mul_err(*s, eh, p);
  vf64 e;
  *nh = vf64_fast_two_sum(m, p, &e);
  *nl = vf64_add(e, vf64_mad(*s, el, pe));
  if (!positive) *nl = vf64_add(*nl, me);
}

/* nh + nl = E, s and t as above, for -60 <= x <= 670; for x >= -2^-5 only, if positive is constant 1. */
RM_FN void rm_expm1_core_dd(vf64 x, int positive, vf64 *nh, vf64 *nl, vf64 *s, vf64 *t) {
  vi64 k;
  vf64 eh, el;
  rm_exp_reduced_dd(x, &k, &eh, &el, t);
  rm_expm1_scaled_dd(k, eh, el, positive, nh, nl, s);
}

/* The bound of nh + nl = E = hi + ...: see above. */
RM_FN vf64 rm_expm1_bound_dd(vf64 hi, vf64 s, vf64 t) {
  vf64 et = vf64_mul(vf64_mul(s, t), vf64_set1(RM_EXPM1_DD_ERR_T));
  return vf64_add(vf64_abs(et), vf64_abs(vf64_mul(hi, vf64_set1(RM_EXPM1_DD_ERR))));
}

/* hi + lo = e^x - 1 within err, for x <= 670. */
RM_FN void rm_expm1_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  vf64 s, t;
  rm_expm1_core_dd(vf64_max(vf64_set1(-60.0), x), 0, hi, lo, &s, &t);
  *err = rm_expm1_bound_dd(*hi, s, t);
}
