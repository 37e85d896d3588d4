/* A row of exponentials for the slow tiers of what is built on softmax. */
#ifndef RM_NN_EXP_ROW_H
#define RM_NN_EXP_ROW_H

#include "decide.h"

#define RM_EXP_TAIL (-8192.0)
#define RM_EXP_TAIL_BITS (-11818) /* e^-8192 < 2^-11818 */

/* A row x with its greatest element m, x[at] the first of it, for the slow tiers. only_tail: every other element is -infinity (-1), or
 * below m + RM_EXP_TAIL and some are finite (1). sum_*: what the formula has found for this row at limbs_*. */
typedef struct {
  int64_t n, at;
  const double *x;
  double m;
  int only_tail, limbs_near, limbs_ball;
  rm_near sum_near;
  rm_ball sum_ball;
} rm_exp_row;

/* r for a row whose greatest element m is finite. */
RM_SHARED void rm_exp_row_begin(rm_exp_row *r, int64_t n, const double *x, double m);

#endif
