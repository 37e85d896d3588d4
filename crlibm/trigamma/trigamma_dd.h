/* trigamma in double-double numbers with a bound of their error (enclosure/dd_ball.h), for the accurate phase of all formats:
 * the steps of trigamma_b64.h, with the asymptotic series from 12.5 on.
 *
 * Roundings are in the numbers' own bounds; what is added to them here is the rest of the series, which is below the first
 * term left out, B_30 v^31: RM_TRIGAMMA_SERIES_NEXT is larger than B_30 by more than the computed power can be short. */
#pragma once

#include "../lgamma/lgamma_dd.h"
#include "trigamma_tables.h"

/* The sum of (x + j)^-2 over j from `from` on, 0 or 1, for x > -1/2; not 0 with from = 0. Unknown where it does not fit. */
RM_COLD void rm_trigamma_from_dd_ball(rm_dd_ball *r, double x, int from) {
  rm_dd_ball at, one, p, q, t, v, w;
  if (!(x < 0x1p400)) {
    rm_dd_ball_unknown(r);
    return;
  }
  rm_dd_ball_set(&one, 1.0, 0);
  rm_dd_ball_set(&p, 1.0, 0);
  rm_dd_ball_set(&q, 0.0, 0);
  for (int j = from;; j++) {
    rm_dd_ball_set(&at, x, 0);
    rm_dd_ball_set(&t, (double)j, 0);
    rm_dd_ball_add(&at, &at, &t);
    if (at.hi >= RM_GAMMA_FAR_DD) break;
    rm_dd_ball_mul(&t, &at, &at);
    rm_dd_ball_mul(&q, &q, &t);
    rm_dd_ball_add(&q, &q, &p);
    rm_dd_ball_mul(&p, &p, &t);
  }
  rm_dd_ball_div(&v, &one, &at);
  rm_dd_ball_mul(&w, &v, &v);
  const double w2 = w.hi * w.hi, w4 = w2 * w2; /* the first term left out has w^14 more than the first */
  rm_gamma_sum(&t, rm_trigamma_series, RM_TRIGAMMA_SERIES_TERMS, &w);
  rm_gamma_widen(&t, w4 * w4 * w4 * w2 * RM_TRIGAMMA_SERIES_NEXT);
  rm_dd_ball_mul(&t, &t, &v);
  rm_dd_ball_set(r, 0.5, 0);
  rm_dd_ball_add(&t, &t, r);
  rm_dd_ball_mul(&t, &t, &w);
  rm_dd_ball_add(r, &t, &v);
  rm_dd_ball_div(&q, &q, &p);
  rm_dd_ball_add(r, r, &q);
}

/* trigamma x for x > -1/2 other than 0. */
RM_FN void rm_trigamma_dd_ball(rm_dd_ball *r, double x) { rm_trigamma_from_dd_ball(r, x, 0); }

/* trigamma x for x <= -1/2 that is no integer: (part S)^-2 - trigamma(1 + a), a = -x, part = a - the nearest integer. */
RM_COLD void rm_trigamma_reflected_dd_ball(rm_dd_ball *r, double x) {
  const double part = rm_gamma_fraction(-x);
  rm_dd_ball sine, t;
  rm_gamma_turn_dd(part, &sine, 0);
  rm_dd_ball_set(&t, part, 0);
  rm_dd_ball_mul(&sine, &sine, &t);
  rm_dd_ball_mul(&sine, &sine, &sine);
  rm_dd_ball_set(&t, 1.0, 0);
  rm_dd_ball_div(&t, &t, &sine);
  rm_trigamma_from_dd_ball(r, -x, 1);
  rm_dd_ball_sub(r, &t, r);
}
