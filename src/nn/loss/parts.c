/* The sums of blocks of a loss's terms: compensated sums of the terms and of their bounds. */
#include "parts.h"

#include "../rows/totals.h"

/* *sum = the sum of an array, with its bound, and *also. */
static void add_sum(rm_dd_ball *sum, int64_t n, const double *t, const rm_dd_ball *also) {
  const rm_sum_problem p = {n, {(const char *)t, sizeof *t}, {NULL, 0}, RM_F64, NULL};
  double hi, lo, err;
  rm_dd_ball part;
  if (rm_sum_approximately(&p, 1, &hi, &lo, &err)) rm_dd_ball_finish(&part, hi, lo, err != 0.0, err);
  else rm_dd_ball_unknown(&part);
  if (also) rm_dd_ball_add(sum, also, &part);
  else *sum = part;
}

void rm_loss_part(rm_dd_ball *part, int64_t n, const double *t, const double *low, const double *err) {
  rm_dd_ball sum, error;
  add_sum(&sum, n, t, NULL);
  if (low) add_sum(&sum, n, low, &sum);
  add_sum(&error, n, err, NULL);
  const double max = rm_dd_ball_max(&error);
  rm_dd_ball_finish(part, sum.hi, sum.lo, sum.err != 0.0 || max > 0x1p-1050, sum.err + max);
}
