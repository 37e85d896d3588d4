/* digamma in double-double numbers with a bound of their error (enclosure/dd_ball.h), for the accurate phase of every format:
 * the steps of digamma_b64.h, with the asymptotic series from 12.5 on. What is added to the numbers' own bounds is derived in
 * lgamma_dd.h. */
#pragma once

#include "../lgamma/lgamma_dd.h"

/* r = r + sign/x. */
RM_FN void rm_digamma_add_inverse(rm_dd_ball *r, double sign, double x) {
  rm_dd_ball one, t;
  rm_dd_ball_set(&one, sign, 0);
  rm_dd_ball_set(&t, x, 0);
  rm_dd_ball_div(&t, &one, &t);
  rm_dd_ball_add(r, r, &t);
}

/* digamma x for x > -1/2 other than 0; unknown where it does not fit. */
RM_COLD void rm_digamma_dd_ball(rm_dd_ball *r, double x) {
  rm_dd_ball p, t;
  if (x >= RM_GAMMA_FAR_DD) {
    rm_dd_ball v, one;
    if (!(x < 0x1p900)) {
      rm_lgamma_log(r, x);
      rm_gamma_widen(r, 0x1p-899); /* 1/(2x) and less */
      return;
    }
    rm_dd_ball_set(&t, x, 0);
    rm_dd_ball_set(&one, 1.0, 0);
    rm_dd_ball_div(&v, &one, &t);
    rm_dd_ball_mul(&p, &v, &v);
    rm_gamma_series(&t, rm_digamma_series, &p);
    rm_dd_ball_mul(&t, &t, &p);
    rm_dd_ball_scale(&v, &v, -1);
    rm_dd_ball_add(&t, &t, &v);
    rm_lgamma_log(r, x);
    rm_dd_ball_sub(r, r, &t);
    return;
  }
  const int m = x < 0.5 ? 0 : (int)(x + 0.5);
  const double near = x - (double)m; /* exact */
  rm_gamma_taylor(r, rm_digamma_taylor, near);
  if (m < 2) {
    if (m == 0) {
      rm_dd_ball one, whole;
      rm_dd_ball_set(&one, 1.0, 0);
      rm_dd_ball_set(&t, x, 0);
      rm_dd_ball_add(&whole, &one, &t);
      rm_dd_ball_div(&t, &one, &whole);
      rm_dd_ball_sub(r, r, &t);
    }
    rm_digamma_add_inverse(r, -1.0, x);
  }
  for (int j = 1; j <= m - 2; j++) rm_digamma_add_inverse(r, 1.0, x - (double)j); /* exact, as x >= 2.5 */
}

/* digamma x for x <= -1/2 that is no integer: digamma a + 1/a + cos(pi part)/(part S), a = -x, part = a - the nearest
 * integer. */
RM_COLD void rm_digamma_reflected_dd_ball(rm_dd_ball *r, double x) {
  const double a = -x, part = rm_gamma_fraction(a);
  rm_dd_ball sine, cosine, t;
  rm_gamma_turn_dd(part, &sine, &cosine);
  rm_dd_ball_set(&t, part, 0);
  rm_dd_ball_mul(&sine, &sine, &t);
  rm_dd_ball_div(&cosine, &cosine, &sine);
  rm_digamma_dd_ball(r, a);
  rm_digamma_add_inverse(r, 1.0, a);
  rm_dd_ball_add(r, r, &cosine);
}
