/* lgamma in double-double numbers with a bound of their error (enclosure/dd_ball.h), for the accurate phase of every format,
 * and what digamma shares with it.
 *
 * The steps of lgamma_b64.h, with the asymptotic series from 12.5 on. Roundings are in the numbers' own bounds; what is added
 * to them here:
 *   constants   in two parts, each rounded: within 2^-105 of themselves
 *   Taylor      the terms from t^RM_GAMMA_LAST on are summed in binary64: with coefficients that are rounded, alternate in
 *               sign and halve at least, each partial sum is below twice the first one, a, and 2 roundings for each of fewer
 *               than 32 terms are below 2^-46 a in all; beyond RM_LGAMMA_TERMS less than 2^-87 is left out of T/t and D
 *   series      what is left out is below the first term left out, its coefficient rounded up by more than the computed w^14
 *               can be short
 *   sin, cos    alternating with falling terms for |pi r| < 1.6: below the first term left out, 2^-100 */
#pragma once

#include "../enclosure/dd_ball.h"
#include "../log/log_any.h"
#include "lgamma_tables.h"

#define RM_GAMMA_FAR_DD 12.5
enum { RM_GAMMA_LAST = 20 }; /* coefficients in double-double */

/* The k-th number of a table of pairs. */
RM_FN void rm_gamma_constant(rm_dd_ball *r, const double *table, int k) {
  rm_dd_ball_finish(r, table[2 * k], table[2 * k + 1], 1, vf64_abs(table[2 * k]) * 0x1p-105);
}
/* The sum of table[k] x^k, k < n. */
RM_FN void rm_gamma_sum(rm_dd_ball *r, const double *table, int n, const rm_dd_ball *x) {
  rm_dd_ball c;
  rm_gamma_constant(r, table, n - 1);
  for (int k = n - 2; k >= 0; k--) {
    rm_dd_ball_mul(r, r, x);
    rm_gamma_constant(&c, table, k);
    rm_dd_ball_add(r, r, &c);
  }
}
/* r + anything of at most `more`. */
RM_FN void rm_gamma_widen(rm_dd_ball *r, double more) { rm_dd_ball_finish(r, r->hi, r->lo, 1, r->err + more); }

/* T(t)/t or D(t), by its table, |t| <= 1/2. */
RM_COLD void rm_gamma_taylor(rm_dd_ball *r, const double *table, double t) {
  double last = table[2 * (RM_LGAMMA_TERMS - 1)];
  rm_dd_ball x, c;
  for (int k = RM_LGAMMA_TERMS - 2; k >= RM_GAMMA_LAST; k--) last = vf64_mad(t, last, table[2 * k]);
  rm_dd_ball_set(&x, t, 0);
  rm_dd_ball_finish(r, last, 0.0, 1, vf64_abs(table[2 * RM_GAMMA_LAST]) * 0x1p-46);
  for (int k = RM_GAMMA_LAST - 1; k >= 0; k--) {
    rm_dd_ball_mul(r, r, &x);
    rm_gamma_constant(&c, table, k);
    rm_dd_ball_add(r, r, &c);
  }
  rm_gamma_widen(r, 0x1p-87);
}

/* The asymptotic series in w = 1/x^2, x >= RM_GAMMA_FAR_DD, by its table: S(w). */
RM_COLD void rm_gamma_series(rm_dd_ball *r, const double *table, const rm_dd_ball *w) {
  const double w2 = w->hi * w->hi, w4 = w2 * w2; /* the first term left out has w^14 */
  rm_gamma_sum(r, table, RM_GAMMA_SERIES_TERMS, w);
  rm_gamma_widen(r, w4 * w4 * w4 * w2 * RM_GAMMA_SERIES_NEXT);
}

/* sin(pi r)/(pi r), and cos(pi r) unless it is NULL, |r| <= 1/2. */
RM_COLD void rm_gamma_turn_dd(double r, rm_dd_ball *sine, rm_dd_ball *cosine) {
  rm_dd_ball x, x2;
  rm_dd_ball_set(&x, r, 0);
  rm_dd_ball_mul(&x2, &x, &x);
  rm_gamma_sum(sine, rm_gamma_sine, RM_GAMMA_TURN_TERMS, &x2);
  rm_gamma_widen(sine, 0x1p-100);
  if (!cosine) return;
  rm_gamma_sum(cosine, rm_gamma_cosine, RM_GAMMA_TURN_TERMS, &x2);
  rm_gamma_widen(cosine, 0x1p-100);
}
/* a - the nearest integer, exactly, for 0 <= a < 2^52. */
RM_FN double rm_gamma_fraction(double a) {
  const double whole = (double)(int64_t)a, part = a - whole;
  return part > 0.5 ? part - 1.0 : part;
}

/* log of a positive number from the least one on. */
RM_FN void rm_lgamma_log(rm_dd_ball *r, double x) {
  double h, l, e;
  if (x == 1.0) {
    rm_dd_ball_set(r, 0.0, 0);
    return;
  }
  rm_log_any_dd(x, 0, &h, &l, &e);
  rm_dd_ball_finish(r, h, l, 1, e);
}

/* lgamma x for x > -1/2 other than 0, 1 and 2; unknown where it does not fit. */
RM_COLD void rm_lgamma_dd_ball(rm_dd_ball *r, double x) {
  rm_dd_ball l, p, t;
  if (x >= RM_GAMMA_FAR_DD) {
    rm_dd_ball v, one;
    if (!(x < 0x1p900)) {
      rm_dd_ball_unknown(r);
      return;
    }
    rm_lgamma_log(&l, x); /* (x - 1/2) log x - x + log(2 pi)/2 + S/x */
    rm_dd_ball_set(&t, x, 0);
    rm_dd_ball_set(&one, 1.0, 0);
    rm_dd_ball_div(&v, &one, &t);
    rm_dd_ball_set(&p, -0.5, 0);
    rm_dd_ball_add(&p, &t, &p);
    rm_dd_ball_mul(r, &p, &l);
    rm_dd_ball_sub(r, r, &t);
    rm_dd_ball_mul(&p, &v, &v);
    rm_gamma_series(&t, rm_lgamma_series, &p);
    rm_dd_ball_mul(&t, &t, &v);
    rm_dd_ball_finish(&p, RM_LGAMMA_HALF_LOG_2PI, RM_LGAMMA_HALF_LOG_2PI_LO, 1, 0x1p-105);
    rm_dd_ball_add(&t, &t, &p);
    rm_dd_ball_add(r, r, &t);
    return;
  }
  const int m = x < 0.5 ? 0 : (int)(x + 0.5);
  const double near = x - (double)m; /* exact */
  rm_gamma_taylor(r, rm_lgamma_taylor, near);
  rm_dd_ball_set(&t, near, 0);
  rm_dd_ball_mul(r, r, &t);
  if (m < 2) {
    rm_lgamma_log(&l, m == 1 ? x : vf64_abs(x));
    rm_dd_ball_sub(r, r, &l);
    if (m == 0) {
      rm_dd_ball_log1p(&l, &t);
      rm_dd_ball_sub(r, r, &l);
    }
  } else if (m > 2) {
    rm_dd_ball_set(&p, x - 1.0, 0); /* exact, as x >= 2.5 */
    for (int j = 2; j <= m - 2; j++) {
      rm_dd_ball_set(&t, x - (double)j, 0);
      rm_dd_ball_mul(&p, &p, &t);
    }
    rm_dd_ball_log(&l, &p);
    rm_dd_ball_add(r, r, &l);
  }
}

/* lgamma x for x <= -1/2 that is no integer: -log(a |r| S) - lgamma a, a = -x. */
RM_COLD void rm_lgamma_reflected_dd_ball(rm_dd_ball *r, double x) {
  const double a = -x, part = rm_gamma_fraction(a);
  rm_dd_ball p, t;
  rm_gamma_turn_dd(part, &p, 0);
  rm_dd_ball_set(&t, vf64_abs(part), 0);
  rm_dd_ball_mul(&p, &p, &t);
  rm_dd_ball_set(&t, a, 0);
  rm_dd_ball_mul(&p, &p, &t);
  rm_dd_ball_log(&p, &p);
  rm_lgamma_dd_ball(r, a);
  rm_dd_ball_add(r, r, &p);
  rm_dd_ball_neg(r, r);
}
