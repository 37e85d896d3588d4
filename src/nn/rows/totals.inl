/* Exact sums as numbers (totals.h). It is also device code. */
#include "totals.h"

#include "../../reduce/total.h"

RM_HOST_EXTERN void rm_problem_total_dd_ball(rm_dd_ball *sum, const rm_sum_problem *p, int limbs) {
  (void)limbs;
  double hi, lo, err;
  if (!rm_sum_approximately(p, 1, &hi, &lo, &err)) hi = lo = 0.0, err = rm_dd_ball_infinity();
#if !RM_DEVICE
  else if (rm_sum_is_exact(p, err)) err = 0.0; /* what cancels is then exactly 0 here, and no ball has to show it */
#endif
  rm_dd_ball_finish(sum, hi, lo, err != 0.0, err);
}

RM_HOST_EXTERN void rm_problem_total_ball(rm_ball *sum, const rm_sum_problem *p, int limbs) {
  RM_BIG(rm_superaccumulator, acc, 1);
  rm_sum_exactly(p, acc);
  rm_ball_set_total(sum, acc, limbs);
}

RM_HOST_EXTERN int rm_problem_sign(const rm_sum_problem *p) {
  RM_BIG(rm_superaccumulator, acc, 1);
  rm_sum_exactly(p, acc);
  const rm_superacc_top top = rm_superacc_get_top(acc);
  return top.m == 0 ? 0 : top.negative ? -1 : 1;
}
