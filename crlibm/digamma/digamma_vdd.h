/* digamma in double-double for the fast phase of f64, by vectors with a running bound: the steps of digamma_b64.h, with what
 * lgamma_vdd.h derives of Taylor's and the asymptotic series. The inverses of the factors between x and 2 + t are one
 * quotient: of q/p and a factor f, (q f + p)/(p f). These six steps have positive numbers; a low part is below 10 u of its
 * number, u = 2^-53, and rounds with what is added to it by 40 u^2 a step: q and p are within 2^-95 of themselves, for which
 * q has a bound, 2^-94. */
#pragma once

#include "../lgamma/lgamma_vdd.h"

/* digamma x for -1/2 < x, RM_GAMMA_LEAST <= |x| < RM_GAMMA_MOST. */
RM_FN rm_vdd rm_digamma_above_vdd(vf64 x) {
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0), limit = vf64_set1(RM_LGAMMA_FAR), y = vf64_min(x, limit);
  const vm64 low = vf64_lt(x, vf64_set1(1.5)), lowest = vf64_lt(x, vf64_set1(0.5)), far = vf64_lt(limit, x);
  vf64 t = vf64_select(lowest, y, vf64_sub(y, vf64_select(low, one, vf64_set1(2.0))));
  vf64 ph = vf64_select(low, x, one), pl = zero, qh = vf64_select(low, one, zero), ql = zero, e;
  for (int j = 1; j <= RM_LGAMMA_FACTORS; j++) {
    const vm64 above = vf64_lt(vf64_set1(j + 1.5), x);
    const vf64 f = vf64_sub(y, vf64_set1(j)), m = vf64_mul(qh, f), n = vf64_mul(ph, f), s = vf64_two_sum(m, ph, &e);
    const vf64 rest = vf64_mad(ql, f, vf64_add(vf64_add(vf64_mul_err(qh, f, m), e), pl));
    ql = vf64_select(above, rest, ql);
    qh = vf64_select(above, s, qh);
    pl = vf64_select(above, vf64_mad(pl, f, vf64_mul_err(ph, f, n)), pl);
    ph = vf64_select(above, n, ph);
    t = vf64_select(above, vf64_sub(y, vf64_set1(j + 2.0)), t);
  }
  rm_vdd p = rm_vdd_ordered(ph, pl, zero), q = rm_vdd_ordered(qh, ql, vf64_mul(qh, vf64_set1(0x1p-94)));
  const rm_vdd second = rm_vdd_of(one, y, zero); /* 1 + x */
  q = rm_vdd_select(lowest, rm_vdd_add(second, rm_vdd_exact(y)), q);
  p = rm_vdd_select(lowest, rm_vdd_times(second, y), p);
  q = rm_vdd_div(q, p);
  rm_vdd r =
      rm_vdd_add(rm_gamma_taylor_vdd(rm_digamma_taylor, RM_DIGAMMA_TAYLOR_FIRST, t), rm_vdd_select(low, rm_vdd_neg(q), q));
  if (!vm64_none(far)) { /* log x - v/2 - v^2 S */
    const rm_vdd z = rm_vdd_exact(vf64_max(x, limit)), v = rm_gamma_inverse_vdd(z);
    const rm_vdd s = rm_gamma_series_vdd(rm_digamma_series, RM_GAMMA_SERIES_NEXT, rm_vdd_mul(v, v), v);
    const rm_vdd rest = rm_vdd_add(s, rm_vdd_times(v, vf64_set1(0.5)));
    r = rm_vdd_select(far, rm_vdd_sub(rm_gamma_log_vdd(z, zero), rest), r);
  }
  return r;
}

/* digamma x for RM_GAMMA_LEAST <= |x| < RM_GAMMA_MOST, below -1/2 for |x| < 2^51 and no integer: there digamma a + 1/a +
 * cos(pi r)/(r S), a = -x. */
RM_FN rm_vdd rm_digamma_vdd(vf64 x) {
  const vm64 below = vf64_le(x, vf64_set1(-0.5));
  const vf64 a = vf64_select(below, vf64_abs(x), vf64_set1(0.75));
  rm_vdd v = rm_digamma_above_vdd(vf64_select(below, a, x));
  if (!vm64_none(below)) {
    const vf64 r = rm_gamma_part(a);
    const rm_vdd q = rm_vdd_div(rm_gamma_turn_vdd(rm_gamma_cosine, r), rm_vdd_times(rm_gamma_turn_vdd(rm_gamma_sine, r), r));
    v = rm_vdd_select(below, rm_vdd_add(rm_vdd_add(v, rm_gamma_inverse_vdd(rm_vdd_exact(a))), q), v);
  }
  return v;
}
