/* Vectors of double-double numbers with a running bound of their error: for fast phases of f64 that are composed of many
 * steps, none of which then needs an analysis of where it stands.
 *
 * A rm_vdd stands for every number within e of h + l, |l| <= 2^-53 |h|; it has e = 0 where it is exact. Whoever uses it says
 * why every h and every product of two is 0 or between 2^-960 and 2^990 in magnitude, so that products are exact in two parts
 * and nothing that counts underflows.
 *
 * With u = 2^-53, P the product of the h:
 *   sum        l + l is below u (|ah| + |bh|), and it and its sum with the rest of h + h round by 3.1 u^2 of them: 2^-104
 *   product    each cross product is below u |P|, and they round by 3 u^2 |P|; two sums of low parts below 3 u |P|: 5 u^2;
 *              l l, left out: u^2. Together below 9 u^2 |P|: 2^-102
 *   quotient   q = qh + ql, qh within 2^-51.9, ql the residual times 1/b within 2^-27; the residual is below 2^-50.9 |a| and
 *              within 2^-101 |a|: q is within 2^-77.5 of itself. b's bound must be below 2^-30 |b|
 * and |l| <= u |h| makes of |A B - a b| <= |a| eb + |b| ea + ea eb at most (1 + u) times what is computed. e itself is made
 * of sums and products of numbers that are not negative, in fewer than 2^9 steps: it is within 2^-43 of what it stands for,
 * for which rm_vdd_known makes up. */
#pragma once

#include "simd.h"

/* With one lane they are calls: elsewhere code would be several times as long. */
#if RM_SIMD == RM_SIMD_SCALAR
#define RM_VDD RM_NOINLINE
#else
#define RM_VDD RM_FN
#endif

typedef struct {
  vf64 h, l, e;
} rm_vdd;

/* h + l within e, for any h and l. */
RM_FN rm_vdd rm_vdd_of(vf64 h, vf64 l, vf64 e) {
  rm_vdd r;
  r.h = vf64_two_sum(h, l, &r.l);
  r.e = e;
  return r;
}
/* The same for |l| <= |h|, or h = 0 = l. */
RM_FN rm_vdd rm_vdd_ordered(vf64 h, vf64 l, vf64 e) {
  rm_vdd r;
  r.h = vf64_fast_two_sum(h, l, &r.l);
  r.e = e;
  return r;
}
RM_FN rm_vdd rm_vdd_exact(vf64 x) {
  const rm_vdd r = {x, vf64_set1(0.0), vf64_set1(0.0)};
  return r;
}
/* A number that a table has in two parts, each rounded. */
RM_FN rm_vdd rm_vdd_constant(double h, double l) {
  const rm_vdd r = {vf64_set1(h), vf64_set1(l), vf64_abs(vf64_set1(h * 0x1p-105))};
  return r;
}
RM_FN rm_vdd rm_vdd_neg(rm_vdd a) {
  const rm_vdd r = {vf64_neg(a.h), vf64_neg(a.l), a.e};
  return r;
}
RM_FN rm_vdd rm_vdd_select(vm64 m, rm_vdd a, rm_vdd b) {
  const rm_vdd r = {vf64_select(m, a.h, b.h), vf64_select(m, a.l, b.l), vf64_select(m, a.e, b.e)};
  return r;
}

RM_VDD rm_vdd rm_vdd_add(rm_vdd a, rm_vdd b) {
  vf64 t;
  const vf64 s = vf64_two_sum(a.h, b.h, &t), sizes = vf64_add(vf64_abs(a.h), vf64_abs(b.h));
  return rm_vdd_of(s, vf64_add(t, vf64_add(a.l, b.l)), vf64_mad(sizes, vf64_set1(0x1p-104), vf64_add(a.e, b.e)));
}
RM_FN rm_vdd rm_vdd_sub(rm_vdd a, rm_vdd b) { return rm_vdd_add(a, rm_vdd_neg(b)); }

RM_VDD rm_vdd rm_vdd_mul(rm_vdd a, rm_vdd b) {
  const vf64 p = vf64_mul(a.h, b.h), c = vf64_mad(a.h, b.l, vf64_mul(a.l, b.h)), size = vf64_abs(b.h);
  const vf64 more = vf64_mad(a.e, vf64_add(size, b.e), vf64_mul(b.e, vf64_abs(a.h)));
  return rm_vdd_ordered(p, vf64_add(vf64_mul_err(a.h, b.h, p), c), vf64_mad(vf64_abs(p), vf64_set1(0x1p-102), more));
}
/* a x for a number x. */
RM_VDD rm_vdd rm_vdd_times(rm_vdd a, vf64 x) {
  const vf64 p = vf64_mul(a.h, x);
  return rm_vdd_ordered(p, vf64_mad(a.l, x, vf64_mul_err(a.h, x, p)),
                        vf64_mad(vf64_abs(p), vf64_set1(0x1p-102), vf64_mul(a.e, vf64_abs(x))));
}
RM_VDD rm_vdd rm_vdd_div(rm_vdd a, rm_vdd b) {
  vf64 r;
  const vf64 q = vf64_quotient(a.h, b.h, &r);
  const vf64 d = vf64_sub(vf64_nmad(q, b.l, a.l), vf64_mul_err(q, b.h, a.h)), size = vf64_abs(q);
  const vf64 more = vf64_mul(vf64_mad(size, b.e, a.e), vf64_abs(vf64_mul(r, vf64_set1(1.0 + 0x1p-20))));
  return rm_vdd_ordered(q, vf64_mul(d, r), vf64_mad(size, vf64_set1(0x1p-77), more));
}

/* What the rounding test of a fast phase asks for (undecided.h). */
RM_FN void rm_vdd_known(rm_vdd a, vf64 *hi, vf64 *lo, vf64 *err) {
  *hi = a.h;
  *lo = a.l;
  *err = vf64_mad(vf64_abs(a.h), vf64_set1(0x1p-105), vf64_mul(a.e, vf64_set1(1.0 + 0x1p-40)));
}
