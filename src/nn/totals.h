/* Exact sums as numbers of the slow tiers (crlibm/fp/numbers.h). */
#ifndef RM_NN_TOTALS_H
#define RM_NN_TOTALS_H

#include "../../crlibm/fp/ball.h"
#include "../../crlibm/fp/near.h"
#include "../reduce/sum.h"

/* The sum, of finite terms: compensated with its bound, or exactly as far as `limbs` hold it. */
RM_SHARED void rm_problem_total_near(rm_near *sum, const rm_sum_problem *p, int limbs);
RM_SHARED void rm_problem_total_ball(rm_ball *sum, const rm_sum_problem *p, int limbs);

/* a, further off by less than 2^k; rm_ball_widen likewise. */
RM_FN void rm_near_widen(rm_near *r, const rm_near *a, int64_t k) {
  rm_near_finish(r, a->hi, a->lo, 1, a->err + rm_pow2(k < -980 ? -980 : (int)k));
}

/* Its sign: -1, 0, 1. */
RM_SHARED int rm_problem_sign(const rm_sum_problem *p);

#endif
