#include "totals.h"

void rm_problem_total_near(rm_near *sum, const rm_sum_problem *p, int limbs) {
  (void)limbs;
  double hi, lo, err;
  if (!rm_sum_approximately(p, 1, &hi, &lo, &err)) hi = lo = 0.0, err = rm_near_infinity();
  rm_near_finish(sum, hi, lo, err != 0.0, err);
}

void rm_problem_total_ball(rm_ball *sum, const rm_sum_problem *p, int limbs) {
  rm_superaccumulator acc, size;
  rm_sum_exactly(p, &acc);
  const int negative = rm_superacc_magnitude(&acc, &size);
  rm_ball t;
  rm_ball_set(sum, 0.0, limbs);
  for (int i = 0; i < RM_ACC_DIGITS; i++) {
    if (size.digit[i] == 0) continue;
    rm_ball_set_u64(&t, (uint64_t)size.digit[i], limbs);
    rm_ball_scale(&t, &t, 32 * i - RM_ACC_ONE);
    rm_ball_add(sum, sum, &t);
  }
  if (negative) rm_ball_neg(sum, sum);
}

int rm_problem_sign(const rm_sum_problem *p) {
  rm_superaccumulator acc;
  rm_sum_exactly(p, &acc);
  const rm_superacc_top top = rm_superacc_get_top(&acc);
  return top.m == 0 ? 0 : top.negative ? -1 : 1;
}
