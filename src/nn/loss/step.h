/* The terms of losses (loss/kernels.h) for a vector of pairs. It is also device code.
 *
 * Bounds, u = 2^-53, relative to the term unless stated.
 *   terms     d, u; |d| < b decided by the rounded d: both branches of SQUARE agree up to (|d| - b)^2 <= u^2 b^2 there, and
 *             CLAMPED is off by u at most. SQUARE: d^2 3 u; 2 |d| - b >= |d|, so that it is off by 2 u + u, b times it by 4
 *             u. Scale and g: 3 u, with their products. Below 8 u; the test's 2^-52 are 2 u more: RM_TERM_ERR.
 *   terms_dd  x - y = h + l exactly. SQUARE: h^2 exactly in two, 2 h l and its sum rounded, l^2 left out: 6 u^2; the other
 *             branch: s + e = 2 |h| - b exactly, |e + 2 l| <= 3 u s: 10 u^2. Times scale: 20 u^2, with its own 16 u^2; times
 *             g: 17 u^2. The test adds low -+ err, rounded: 8 u^2. Below 128 u^2 = 2^-99: RM_TERM_DD_ERR.
 *   Products that underflow lose at most 2^-1070 each, scaled by at most 2^200 (1 + |g|): RM_TERM_MIN (1 + |g|) covers that,
 *   unless a factor is 0: then the term is 0. Products that overflow on the way make the term or the bound infinite or NaN,
 *   which decides nothing.
 *
 * A bound of 0, which decides ties, rests on products and their errors being exact; p->exact says so of b and the scale s,
 * powers of two or at least 2^-200. terms: d is a multiple of 2^-149, so that products are multiples of 2^-749 at least.
 * terms_dd: h at least 2^-300 and l 0 or at least 2^-500 (RM_TERM_MIN_HIGH, _LOW). Then h^2 and its error are multiples of
 * 2^-704; m >= b, b m and e are multiples of 2^-504 and b (e + 2 l) of 2^-752, like its error 2^-804; s times all that is a
 * multiple of 2^-1004. g times it has no second part before, and has one that is exact where the product is at least
 * 2^-900. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "../../../crlibm/simd/undecided.h"
#include "kernels.h"

#define RM_TERM_ERR RM_BOUND(0x1.4p-50)
#define RM_TERM_DD_ERR RM_BOUND(0x1p-99)
#define RM_TERM_MIN 0x1p-850
#define RM_TERM_MIN_HIGH 0x1p-300
#define RM_TERM_MIN_LOW 0x1p-500

RM_FN vf64 rm_term_bound(vf64 t, vf64 d, vf64 g, double rel) {
  const vf64 zero = vf64_set1(0.0), min_err = vf64_set1(RM_TERM_MIN);
  const vm64 nothing = vm64_or(vf64_eq(d, zero), vf64_eq(g, zero));
  const vf64 more = vf64_select(nothing, zero, vf64_mad(vf64_abs(g), min_err, min_err));
  return vf64_mad(vf64_abs(t), vf64_set1(rel), more);
}

/* -1, 0 or 1; a NaN stays one. */
RM_FN vf64 rm_term_sign(vf64 d) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0);
  return vf64_select(vf64_lt(zero, d), one, vf64_select(vf64_lt(d, zero), vf64_neg(one), d));
}

/* The term of p->x[i] ..., within *err. rest: what the roundings of a term leave over, as magnitudes: 0 where the term is
 * exact, so that ties are decided at once. */
RM_FN vf64 rm_term_value(const rm_term_kind kind, const int by_g, const rm_term_block *p, int64_t i, vf64 *err) {
  const vf64 b = vf64_set1(p->b), s = vf64_set1(p->scale), two = vf64_set1(2.0), zero = vf64_set1(0.0);
  const vf64 inexact = vf64_set1(p->exact ? 0.0 : 1.0);
  const vf64 y = vf64_load(p->y + i), g = by_g ? vf64_load(p->g + i) : vf64_set1(1.0);
  vf64 e, t, rest;
  const vf64 d = vf64_two_sum(vf64_load(p->x + i), vf64_neg(y), &e), a = vf64_abs(d);
  rest = vf64_add(vf64_abs(e), inexact);
  switch (kind) {
    case RM_TERM_SQUARE: {
      const vf64 q = vf64_mul(d, d), m = vf64_two_sum(vf64_mul(two, a), vf64_neg(b), &e), v = vf64_mul(b, m);
      const vm64 inside = vf64_lt(a, b);
      const vf64 rest_v = vf64_add(vf64_abs(e), vf64_abs(vf64_mul_err(b, m, v)));
      t = vf64_select(inside, q, v);
      rest = vf64_add(rest, vf64_select(inside, vf64_abs(vf64_mul_err(d, d, q)), rest_v));
      break;
    }
    case RM_TERM_ABSOLUTE: t = a; break;
    case RM_TERM_CLAMPED: t = vf64_select(vf64_lt(b, d), b, vf64_select(vf64_lt(d, vf64_neg(b)), vf64_neg(b), d)); break;
    default: t = rm_term_sign(d);
  }
  t = vf64_mul(t, s);
  if (by_g) {
    const vf64 v = vf64_mul(t, g);
    rest = vf64_add(rest, vf64_abs(vf64_mul_err(t, g, v)));
    t = v;
  }
  *err = vf64_select(vf64_eq(rest, zero), zero, rm_term_bound(t, d, g, RM_TERM_ERR));
  return t;
}

/* (h + l) (c + m), up to l m and roundings. */
RM_FN vf64 rm_dd_times_term(vf64 h, vf64 *l, vf64 c, vf64 m) {
  const vf64 p = vf64_mul(h, c);
  *l = vf64_add(vf64_mul_err(h, c, p), vf64_add(vf64_mul(h, m), vf64_mul(*l, c)));
  return p;
}

/* The same in two parts, the second one *low. */
RM_FN vf64 rm_term_value_dd(const rm_term_kind kind, const int by_g, const rm_term_block *p, int64_t i, vf64 *low,
                            vf64 *err) {
  const vf64 b = vf64_set1(p->b), zero = vf64_set1(0.0), two = vf64_set1(2.0);
  const vf64 one = vf64_set1(1.0), normal = vf64_set1(0x1p-900);
  const vf64 x = vf64_load(p->x + i), y = vf64_load(p->y + i), g = by_g ? vf64_load(p->g + i) : vf64_set1(1.0);
  vf64 l, h = vf64_two_sum(x, vf64_neg(y), &l);
  const vf64 d = h, a = vf64_abs(h), al = vf64_select(vf64_lt(h, zero), vf64_neg(l), l);
  const vm64 ordinary = vm64_and(vf64_le(vf64_set1(RM_TERM_MIN_HIGH), a),
                                 vm64_or(vf64_eq(l, zero), vf64_le(vf64_set1(RM_TERM_MIN_LOW), vf64_abs(l))));
  vf64 rest = p->exact ? vf64_select(ordinary, zero, one) : one;
  switch (kind) {
    case RM_TERM_SQUARE: {
      vf64 e;
      const vf64 q = vf64_mul(h, h), ql = vf64_add(vf64_mul_err(h, h, q), vf64_mul(vf64_mul(two, h), l));
      const vf64 m = vf64_two_sum(vf64_mul(two, a), vf64_neg(b), &e), v = vf64_mul(b, m), ve = vf64_mul_err(b, m, v);
      const vf64 tail = vf64_add(e, vf64_mul(two, al)), w = vf64_mul(b, tail), vl = vf64_add(ve, w);
      const vf64 rest_v = vf64_add(vf64_min(vf64_abs(e), vf64_abs(al)),
                                   vf64_add(vf64_abs(vf64_mul_err(b, tail, w)), vf64_min(vf64_abs(ve), vf64_abs(w))));
      const vm64 inside = vf64_lt(a, b);
      h = vf64_select(inside, q, v);
      rest = vf64_add(rest, vf64_select(inside, vf64_abs(l), rest_v));
      l = vf64_select(inside, ql, vl);
      break;
    }
    case RM_TERM_ABSOLUTE: h = a, l = al; break;
    case RM_TERM_CLAMPED: { /* at |h| = b the rest of d decides */
      const vm64 beyond = vf64_lt(b, a), at = vm64_and(vf64_eq(a, b), vf64_lt(zero, al));
      h = vf64_select(beyond, vf64_copysign(b, h), h);
      l = vf64_select(vm64_or(beyond, at), zero, l);
      break;
    }
    default: h = rm_term_sign(h), l = zero;
  }
  if (p->scale != 1.0 || p->scale_low != 0.0) h = rm_dd_times_term(h, &l, vf64_set1(p->scale), vf64_set1(p->scale_low));
  if (by_g) {
    rest = vf64_add(rest, vf64_abs(l));
    h = rm_dd_times_term(h, &l, g, zero);
  }
  const vm64 exact = vm64_and(vf64_eq(rest, zero), vf64_le(normal, vf64_abs(h)));
  *low = l;
  *err = vf64_select(exact, zero, rm_term_bound(h, d, g, RM_TERM_DD_ERR));
  return h;
}

/* h + l, within err, rounded to binary64; the lanes in which that is undecided. An exact zero is +0. */
RM_FN vm64 rm_term_round_dd(vf64 h, vf64 l, vf64 err, vf64 *y) {
  const vm64 ends = vf64_undecided_f64(vf64_add(h, vf64_set1(0.0)), l, err, y);
  return vm64_or(ends, vm64_not(vf64_lt(vf64_abs(*y), vf64_set1(0x1.fffffffffffffp1023))));
}
