/* The exact total of a superaccumulator as a number of the accurate phase (crlibm/enclosure/dd_ball.h, ball.h). Its classes
 * do not count. */
#pragma once

#include "../../crlibm/enclosure/ball.h"
#include "../../crlibm/enclosure/dd_ball.h"
#include "superaccumulator.h"

RM_FN void rm_dd_ball_set_total(rm_dd_ball *r, const rm_superaccumulator *acc, int n) {
  const rm_superacc_top t = rm_superacc_get_top(acc);
  (void)n;
  rm_dd_ball_set_integer(r, t.negative, t.m, t.e, t.inexact);
}

RM_FN void rm_ball_set_total(rm_ball *r, const rm_superaccumulator *acc, int n) {
  enum { LIMBS = (RM_ACC_DIGITS + 1) / 2 };
  RM_BIG(uint64_t, limb, LIMBS);
  rm_superacc_walk w = rm_superacc_begin(acc);
  for (int i = 0; i < LIMBS; i++) limb[i] = 0;
  while (w.at < w.end) {
    const int i = w.at;
    limb[i / 2] |= rm_superacc_next(&w) << (i % 2 * RM_ACC_DIGIT_BITS);
  }
  rm_ball_store(r, w.sign != 0, limb, LIMBS, -RM_ACC_ONE, 0.0, n);
}
