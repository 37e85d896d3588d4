/* tanh in double-double, for f64 and as the second step of every format.
 *
 * tanh x = E / (E + 2), E = e^(2x) - 1 = (s - 1) + s (e + tl (1 + e)), e = e^r - 1 in double-double (exp_f64.h), s (1 + tl) the
 * table's 2^(k/16), 2^-27 <= |x| <= 20.
 *
 * With t = r^3 Q, exp_f64.h bounds the error of e by 12u|t| + 2^-80 [k != 0], u = 2^-53. E is off by s times that, and
 * tanh = 1 - 2/(E + 2) by 2/(E + 2)^2 times E's error; E + 2 = 1 + s (1 + e), so 2s/(E + 2)^2 < 1/(2 (1 + e)) < 0.52
 * (s'/(1 + s')^2 <= 1/4 for every s' = s (1 + e) > 0). The other steps are double-double operations on parts of which none
 * exceeds s + 1 <= 47 |E| (|E| >= 0.0214 max(s, 1) when k != 0): below 2^-98 |tanh x|, and the roundings of lo below 2^-100.
 * Error below 7u|t| + 2^-80 |tanh x| 2^6 (|tanh x| > 2^-6 when k != 0). */
#ifndef RM_TANH_F64_H
#define RM_TANH_F64_H

#include "../exp/exp_f64.h"

#define RM_TANH_F64_ERR_T RM_BOUND(0x1p-50) /* 8u, times |t| */
#define RM_TANH_F64_ERR RM_BOUND(0x1p-74)   /* times |tanh x| */

RM_FN void rm_tanh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 one = vf64_set1(1.0), two = vf64_set1(2.0);
  vf64 x2 = vf64_max(vf64_set1(-40.0), vf64_min(vf64_set1(40.0), vf64_add(x, x)));
  vi64 k;
  vf64 eh, el, t;
  rm_exp_reduced_dd(x2, &k, &eh, &el, &t);
  vf64 s = rm_exp_scale(k), tl = vf64_lookup16(rm_exp_t_lo, k);
  el = vf64_mad(tl, eh, vf64_add(el, tl));
  /* E = (s - 1) + s (eh + el): s - 1 = mh + ml exactly (Fast2Sum with the larger of s and 1 first), p + pe = s eh */
  vm64 large = vf64_lt(one, s);
  vf64 big = vf64_select(large, s, vf64_set1(-1.0)), small = vf64_select(large, vf64_set1(-1.0), s);
  vf64 mh = vf64_add(big, small), ml = vf64_sub(small, vf64_sub(mh, big));
  vf64 p = vf64_mul(s, eh), pe = vf64_mul_err(s, eh, p);
  vf64 nh = vf64_add(mh, p), nl = vf64_sub(p, vf64_sub(nh, mh)); /* mh = 0 or |mh| >= |p| */
  nl = vf64_add(nl, vf64_mad(s, el, vf64_add(pe, ml)));
  /* D = E + 2 */
  vf64 dh = vf64_add(two, nh), dl;
  dl = vf64_select(vf64_lt(two, nh), vf64_sub(two, vf64_sub(dh, nh)), vf64_sub(nh, vf64_sub(dh, two)));
  dl = vf64_add(dl, nl);
  /* q = N / D: a quotient, its exact residual, a correction */
  vf64 q = vf64_quotient(nh, dh);
  vf64 b = vf64_mul(q, dh), be = vf64_mul_err(q, dh, b);
  vf64 residual = vf64_add(vf64_sub(vf64_sub(nh, b), be), vf64_nmad(q, dl, nl));
  *hi = vf64_copysign(q, x); /* keeps -0 */
  *lo = vf64_quotient(residual, dh);
  *err = vf64_mad(vf64_abs(t), vf64_set1(RM_TANH_F64_ERR_T), vf64_abs(vf64_mul(q, vf64_set1(RM_TANH_F64_ERR))));
}

#endif
