/* trigamma in double-double for the fast phase of f64, by vectors with a running bound (simd/vdd.h): the steps of
 * trigamma_b64.h, with what lgamma_vdd.h derives of the asymptotic series. The terms below 8.5 are one quotient: of q/p and a
 * square t, (q t + p)/(p t). All numbers are between 2^-450 and 2^300, the series' tail above
 * 2^-760. */
#pragma once

#include "../lgamma/lgamma_vdd.h"
#include "trigamma_tables.h"

#define RM_TRIGAMMA_LEAST 0x1p-150
#define RM_TRIGAMMA_MOST 0x1p150

/* The sum of (x + j)^-2 over j >= 0, for RM_TRIGAMMA_LEAST <= |x| < RM_TRIGAMMA_MOST, -1/2 < x. */
RM_FN rm_vdd rm_trigamma_from_vdd(rm_vdd x) {
  const vf64 one = vf64_set1(1.0), limit = vf64_set1(RM_LGAMMA_FAR);
  rm_vdd p = rm_vdd_exact(one), q = rm_vdd_exact(vf64_set1(0.0));
  for (int k = 0; k < 10; k++) { /* as many as it takes from just above -1/2 */
    const vm64 few = vf64_le(x.h, limit);
    if (vm64_none(few)) break;
    const rm_vdd t = rm_vdd_mul(x, x);
    q = rm_vdd_select(few, rm_vdd_add(rm_vdd_mul(q, t), p), q);
    p = rm_vdd_select(few, rm_vdd_mul(p, t), p);
    x = rm_vdd_select(few, rm_vdd_add(x, rm_vdd_exact(one)), x);
  }
  const rm_vdd v = rm_gamma_inverse_vdd(x), w = rm_vdd_mul(v, v);
  rm_vdd r = rm_gamma_series_vdd(rm_trigamma_series, RM_TRIGAMMA_SERIES_NEXT, rm_vdd_mul(w, v), v);
  r = rm_vdd_add(rm_vdd_add(r, rm_vdd_times(w, vf64_set1(0.5))), v);
  return rm_vdd_add(r, rm_vdd_div(q, p));
}

/* trigamma x for such a magnitude, below -1/2 for |x| < 2^51 and no integer: there (r S)^-2 - trigamma(1 + a), a = -x. */
RM_FN rm_vdd rm_trigamma_vdd(vf64 x) {
  const vm64 below = vf64_le(x, vf64_set1(-0.5));
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0), a = vf64_select(below, vf64_abs(x), vf64_set1(0.75));
  rm_vdd v = rm_trigamma_from_vdd(rm_vdd_select(below, rm_vdd_of(one, a, zero), rm_vdd_exact(x)));
  if (!vm64_none(below)) {
    const vf64 r = rm_gamma_part(a);
    const rm_vdd s = rm_vdd_times(rm_gamma_turn_vdd(rm_gamma_sine, r), r);
    v = rm_vdd_select(below, rm_vdd_sub(rm_gamma_inverse_vdd(rm_vdd_mul(s, s)), v), v);
  }
  return v;
}
