/* betaln in double-double numbers with a bound of their error (enclosure/dd_ball.h), by betaln_formula.h: Stirling's series
 * from 20 on, whose 14 terms leave out less than 2^-96 of 1/y. Every bound is the numbers' own. */
#pragma once

#include "../lgamma/lgamma_dd.h"

RM_COLD void rm_dd_ball_gamma_series(rm_dd_ball *r, const rm_dd_ball *y) {
  rm_dd_ball one, v, w;
  rm_dd_ball_set(&one, 1.0, 0);
  rm_dd_ball_div(&v, &one, y);
  rm_dd_ball_mul(&w, &v, &v);
  rm_gamma_series(r, rm_lgamma_series, &w);
  rm_dd_ball_mul(r, r, &v);
}
RM_FN void rm_dd_ball_half_log_2pi(rm_dd_ball *r, int n) {
  (void)n;
  rm_dd_ball_finish(r, RM_LGAMMA_HALF_LOG_2PI, RM_LGAMMA_HALF_LOG_2PI_LO, 1, 0x1p-105);
}

#define RM_NUM dd_ball
#define RM_BETALN_FROM 20
#include "betaln_formula.h"
#undef RM_NUM
#undef RM_BETALN_FROM
