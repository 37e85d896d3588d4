/* Exact sums as numbers of the accurate phase (crlibm/enclosure/numbers.h). */
#pragma once

#include "../../../crlibm/enclosure/ball.h"
#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../reduce/sum.h"

/* The sum of finite terms: compensated, with its bound, or exact as far as `limbs` hold it. */
RM_HOST_EXTERN void rm_problem_total_dd_ball(rm_dd_ball *sum, const rm_sum_problem *p, int limbs);
RM_HOST_EXTERN void rm_problem_total_ball(rm_ball *sum, const rm_sum_problem *p, int limbs);

/* a with an error bound that is larger by 2^k; rm_ball_widen likewise. */
RM_FN void rm_dd_ball_widen(rm_dd_ball *r, const rm_dd_ball *a, int64_t k) {
  rm_dd_ball_finish(r, a->hi, a->lo, 1, a->err + rm_pow2(k < -980 ? -980 : (int)k));
}

/* Its sign: -1, 0, 1. */
RM_HOST_EXTERN int rm_problem_sign(const rm_sum_problem *p);
