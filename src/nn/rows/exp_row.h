/* Rows of exponentials in the accurate phase of softmax and of the operators built on it. */
#pragma once

#include "decide.h"
#if RM_DEVICE
#define RM_WIDE_NUMBERS 0
#else
#define RM_WIDE_NUMBERS 1
#define RM_IS_dd_ball 1 /* of the numbers of a formula, those that vectors add up */
#include "wide_numbers.h"
#endif

#define RM_EXP_TAIL (-8192.0)
/* A sum leaves out small terms: 2^40 terms below e^RM_EXP_LEFT_OUT are less than 2^-144 of e^RM_EXP_TAIL, so that a sum with
 * a term of that size has a known sign. */
#define RM_EXP_LEFT_OUT (-8320.0)
#define RM_EXP_LEFT_OUT_BITS (-12003) /* e^-8320 < 2^-12003 */

/* A row x with its maximum m, which x[at] is the first element to attain. only_tail: every other element is -infinity (-1),
 * or below m + RM_EXP_TAIL and some are finite (1); then no formula needs their sum. sum_* holds what the formula has found
 * for this row at limbs_*. */
typedef struct {
  int64_t n, at;
  const double *x;
  double m;
  double second; /* the maximum of the others, or -infinity */
  int only_tail, limbs_dd_ball, limbs_ball;
  rm_dd_ball sum_dd_ball;
  rm_ball sum_ball;
} rm_exp_row;

/* Sets *r for a row whose maximum m is finite; on the host a buffer that is padded by -infinity. */
RM_HOST_EXTERN void rm_exp_row_begin(rm_exp_row *r, int64_t n, const double *x, double m);

/* Whether x_i - m less 2^*k rounds like x_i - m less the logarithm of 1 + the sum of the others, which then need not be
 * evaluated. */
RM_HOST_EXTERN int rm_exp_row_is_negligible(const rm_exp_row *r, int64_t i, int *k);
/* The same for an element x of a row whose only_tail is 0. */
RM_HOST_EXTERN int rm_log_sum_is_negligible(double x, double m, double second, int64_t n, int *k);
