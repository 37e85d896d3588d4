/* lgamma in double-double for the fast phase of f64, by vectors with a running bound (simd/vdd.h), and what digamma and
 * betaln share with it. The steps of lgamma_b64.h; from 8.5 on the series. With u = 2^-53, added to the numbers' own bounds:
 *
 *   Taylor   t = x - the nearest integer, |t| <= 1/2. Of the table's terms the first few in double-double, the others, from
 *            t^first on, in binary64: they fall by 4 at least, so that the sum of the magnitudes of c_k t^k is below 4/3 a, a
 *            that of the first, and Horner's 2 (j + 1) roundings of the j-th and its coefficient's are below 5 u a together;
 *            RM_GAMMA_TAYLOR_ERR is 8 u. Then each c_k exceeds the rest that is added to it, so Fast2Sum is exact; low parts
 *            are below 2 u, a step rounds by 7 u^2 and the next halves that: 14 u^2, and the constants are within 2^-105 of
 *            themselves: 2^-99. What is left out is below 2^-72.5
 *   series   v = 1/x, of which h is within u: the k-th term has 2 k + 1 of it, and with the products and Horner's rule
 *            5 k + 5 roundings; the terms fall by 100 first, and by 3 at least: below 12 u of the first of them in binary64,
 *            RM_GAMMA_REST_ERR is 16 u. What is left out is below the first term left out, as in lgamma_dd.h
 *   turns    sin and cos of pi r: from r^2k, k = 6, on in binary64, in the rounded r^2; the terms fall by 50, so that
 *            Horner's rule and the coefficients are below 4 u of the first, RM_GAMMA_TURN_ERR is 8 u. What is left out is
 *            below 2^-100
 *
 * proofs/rests.py computes each of these. The numbers are between 2^-400 and 2^300, their products and the tails above
 * 2^-960; powers of v or t that underflow are of bounds far below 2^-105 of the result, which rm_vdd_known adds. */
#pragma once

#include "../log/log_dd.h"
#include "../simd/vdd.h"
#include "lgamma_b64.h"

#define RM_GAMMA_TAYLOR_ERR RM_BOUND(0x1p-50)
#define RM_GAMMA_REST_ERR RM_BOUND(0x1p-49)
#define RM_GAMMA_TURN_ERR RM_BOUND(0x1p-50)
#define RM_GAMMA_LEAST 0x1p-400
#define RM_GAMMA_MOST 0x1p300
enum { RM_GAMMA_TAYLOR_TERMS = 36, RM_LGAMMA_TAYLOR_FIRST = 7, RM_DIGAMMA_TAYLOR_FIRST = 9, RM_GAMMA_TURN_FIRST = 6 };

/* The sum of the table's pairs times t^k, |t| <= 1/2. */
RM_NOINLINE rm_vdd rm_gamma_taylor_vdd(const double *table, int first, vf64 t) {
  vf64 high = vf64_set1(table[2 * (RM_GAMMA_TAYLOR_TERMS - 1)]), low = vf64_set1(0.0), size = vf64_set1(1.0), e;
  for (int k = RM_GAMMA_TAYLOR_TERMS - 2; k >= first; k--) high = vf64_mad(t, high, vf64_set1(table[2 * k]));
  for (int k = first - 1; k >= 0; k--) {
    const vf64 m = vf64_mul(high, t), me = vf64_mul_err(high, t, m);
    high = vf64_fast_two_sum(vf64_set1(table[2 * k]), m, &e);
    low = vf64_mad(low, t, vf64_add(me, vf64_add(e, vf64_set1(table[2 * k + 1]))));
    size = vf64_mul(size, vf64_abs(t));
  }
  size = vf64_mul(size, vf64_abs(vf64_set1(table[2 * first] * RM_GAMMA_TAYLOR_ERR)));
  return rm_vdd_ordered(high, low, vf64_add(size, vf64_set1(0x1p-72)));
}

/* head (c_0 + c_1 v^2 + ...) by the table's pairs, for v = 1/x, x > 8.5, and head = v, v^2 or v^3; what is left out is below
 * following v^28 head. */
RM_NOINLINE rm_vdd rm_gamma_series_vdd(const double *table, double following, rm_vdd head, rm_vdd v) {
  const vf64 w = vf64_mul(v.h, v.h), w2 = vf64_mul(w, w), w4 = vf64_mul(w2, w2), w8 = vf64_mul(w4, w4);
  vf64 q = vf64_set1(table[2 * (RM_GAMMA_SERIES_TERMS - 1)]);
  for (int k = RM_GAMMA_SERIES_TERMS - 2; k > 0; k--) q = vf64_mad(w, q, vf64_set1(table[2 * k]));
  const vf64 rest = vf64_mul(vf64_mul(head.h, w), q);
  const vf64 next = vf64_mul(vf64_mul(head.h, vf64_set1(following)), vf64_mul(vf64_mul(w8, w4), w2));
  rm_vdd r = rm_vdd_mul(head, rm_vdd_constant(table[0], table[1]));
  r.e = vf64_add(r.e, vf64_mad(vf64_abs(rest), vf64_set1(RM_GAMMA_REST_ERR), next));
  return rm_vdd_add(r, rm_vdd_exact(rest));
}
RM_FN rm_vdd rm_gamma_inverse_vdd(rm_vdd x) { return rm_vdd_div(rm_vdd_exact(vf64_set1(1.0)), x); }

/* S(1/x^2)/x of Stirling's series for x > 8.5. */
RM_FN rm_vdd rm_lgamma_series_vdd(rm_vdd x) {
  const rm_vdd v = rm_gamma_inverse_vdd(x);
  return rm_gamma_series_vdd(rm_lgamma_series, RM_GAMMA_SERIES_NEXT, v, v);
}

/* log x for x within `off` of itself. */
RM_NOINLINE rm_vdd rm_gamma_log_vdd(rm_vdd x, vf64 off) {
  vf64 h, l, e;
  rm_log_dd_of(x.h, x.l, &h, &l, &e);
  return rm_vdd_of(h, l, vf64_add(e, off));
}

/* The products of the lanes in which x is above 2.5: (x - 1) ... (x - m + 2), m the nearest integer, x <= 8.5; 1 elsewhere.
 * The differences are exact. t = x - m there. A factor rounds by 2^-104. */
RM_FN rm_vdd rm_gamma_factors_vdd(vf64 x, vf64 *t) {
  vf64 h = vf64_set1(1.0), l = vf64_set1(0.0);
  for (int j = 1; j <= RM_LGAMMA_FACTORS; j++) {
    const vm64 above = vf64_lt(vf64_set1(j + 1.5), x);
    const vf64 f = vf64_sub(x, vf64_set1(j)), p = vf64_mul(h, f);
    l = vf64_select(above, vf64_mad(l, f, vf64_mul_err(h, f, p)), l);
    h = vf64_select(above, p, h);
    *t = vf64_select(above, vf64_sub(x, vf64_set1(j + 2.0)), *t);
  }
  return rm_vdd_ordered(h, l, vf64_set1(0.0));
}

/* Lanes whose magnitude is not in [least, most), and of those below -1/2 integers and what is too large to have a fraction:
 * NaN too. */
RM_FN vm64 rm_gamma_special(vf64 x, double least, double most) {
  const vf64 a = vf64_abs(x);
  const vm64 inside = vm64_and(vf64_le(vf64_set1(least), a), vf64_lt(a, vf64_set1(most)));
  const vm64 fraction = vf64_ne(rm_gamma_part(vf64_min(vf64_set1(0x1p51), a)), vf64_set1(0.0));
  return vm64_not(vm64_and(inside, vm64_or(vf64_lt(vf64_set1(-0.5), x), fraction)));
}
/* sin(pi r)/(pi r) or cos(pi r) by its table of pairs in r^2, |r| <= 1/2. */
RM_NOINLINE rm_vdd rm_gamma_turn_vdd(const double *table, vf64 r) {
  const rm_vdd w = rm_vdd_times(rm_vdd_exact(r), r);
  vf64 tail = vf64_set1(table[2 * (RM_GAMMA_TURN_TERMS - 1)]);
  for (int k = RM_GAMMA_TURN_TERMS - 2; k >= RM_GAMMA_TURN_FIRST; k--) tail = vf64_mad(w.h, tail, vf64_set1(table[2 * k]));
  rm_vdd v = rm_vdd_exact(tail);
  v.e = vf64_abs(vf64_set1(table[2 * RM_GAMMA_TURN_FIRST] * RM_GAMMA_TURN_ERR));
  for (int k = RM_GAMMA_TURN_FIRST - 1; k >= 0; k--)
    v = rm_vdd_add(rm_vdd_mul(v, w), rm_vdd_constant(table[2 * k], table[2 * k + 1]));
  v.e = vf64_add(v.e, vf64_set1(0x1p-100));
  return v;
}

/* lgamma x for -1/2 < x, RM_GAMMA_LEAST <= |x| < RM_GAMMA_MOST. */
RM_FN rm_vdd rm_lgamma_above_vdd(vf64 x) {
  const vf64 one = vf64_set1(1.0), limit = vf64_set1(RM_LGAMMA_FAR), y = vf64_min(x, limit), q = vf64_mul(y, y);
  const vm64 low = vf64_lt(x, vf64_set1(1.5)), lowest = vf64_lt(x, vf64_set1(0.5)), far = vf64_lt(limit, x);
  vf64 t = vf64_sub(y, vf64_set1(2.0));
  rm_vdd p = rm_gamma_factors_vdd(y, &t), whole = rm_vdd_ordered(y, q, vf64_set1(0.0)); /* x (1 + x) */
  whole.l = vf64_add(whole.l, vf64_mul_err(y, y, q));
  p = rm_vdd_select(low, rm_vdd_exact(x), p);
  p = rm_vdd_select(lowest, rm_vdd_select(vf64_lt(x, vf64_set1(0.0)), rm_vdd_neg(whole), whole), p);
  p = rm_vdd_select(far, rm_vdd_exact(x), p);
  t = vf64_select(lowest, y, vf64_select(low, vf64_sub(y, one), t));
  const rm_vdd log = rm_gamma_log_vdd(p, vf64_set1(0x1p-100));
  rm_vdd r = rm_vdd_add(rm_vdd_times(rm_gamma_taylor_vdd(rm_lgamma_taylor, RM_LGAMMA_TAYLOR_FIRST, t), t),
                        rm_vdd_select(low, rm_vdd_neg(log), log));
  if (!vm64_none(far)) {
    const vf64 z = vf64_max(x, limit);
    rm_vdd s = rm_vdd_mul(rm_vdd_of(z, vf64_set1(-0.5), vf64_set1(0.0)), log);
    s = rm_vdd_add(rm_vdd_sub(s, rm_vdd_exact(z)), rm_vdd_constant(RM_LGAMMA_HALF_LOG_2PI, RM_LGAMMA_HALF_LOG_2PI_LO));
    r = rm_vdd_select(far, rm_vdd_add(s, rm_lgamma_series_vdd(rm_vdd_exact(z))), r);
  }
  return r;
}

/* lgamma x for RM_GAMMA_LEAST <= |x| < RM_GAMMA_MOST, below -1/2 for |x| < 2^51 and no integer: there -log(a |r| S) - lgamma
 * a, a = -x. */
RM_FN rm_vdd rm_lgamma_vdd(vf64 x) {
  const vm64 below = vf64_le(x, vf64_set1(-0.5));
  const vf64 a = vf64_select(below, vf64_abs(x), vf64_set1(0.5));
  rm_vdd v = rm_lgamma_above_vdd(vf64_select(below, a, x));
  if (!vm64_none(below)) {
    const vf64 r = vf64_abs(rm_gamma_part(a));
    const rm_vdd p = rm_vdd_times(rm_vdd_times(rm_gamma_turn_vdd(rm_gamma_sine, r), r), a);
    const vf64 off = vf64_mul(vf64_mul(p.e, vf64_reciprocal(p.h)), vf64_set1(1.0 + 0x1p-20));
    v = rm_vdd_select(below, rm_vdd_neg(rm_vdd_add(v, rm_gamma_log_vdd(p, off))), v);
  }
  return v;
}
