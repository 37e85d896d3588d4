/* Sums of x[i] y[i] in tiers, for functions of a sum that round once. */
#pragma once

#include "kernels.h"
#include "superaccumulator.h"

/* x and y in the format fmt; y.base NULL: the sum of x[i]. With a shift (finite; then y.base is NULL): the sum of
 * (x[i] - *shift)^2, which only rm_sum_approximately takes. */
typedef struct {
  int64_t n;
  rm_terms x, y;
  int fmt;
  const double *shift;
} rm_sum_problem;

/* hi + lo within *err of the sum, lo at most half a last place of hi, by tier 0 (short chains; formats below binary64 only)
 * or 1 (compensated). 0 when something left the range, or a term was not finite. The caller has put the environment right. */
RM_HOST_EXTERN int rm_sum_approximately(const rm_sum_problem *p, int tier, double *hi, double *lo, double *err);

/* The same before its bound is known (sum_parts.h), for joining it to others. */
rm_partial rm_sum_partial(const rm_sum_problem *p, int tier);

/* Whether hi + lo within err, as found there, is the sum exactly. It may say no where the answer is yes. */
int rm_sum_is_exact(const rm_sum_problem *p, double err);

/* *acc += the terms from begin to end. */
RM_HOST_EXTERN void rm_sum_feed(const rm_sum_problem *p, int64_t begin, int64_t end, rm_superaccumulator *acc);

/* The classes of the sum's terms that are infinite or NaN (superaccumulator.h). */
RM_HOST_EXTERN uint32_t rm_sum_classes(const rm_sum_problem *p);

/* *acc = the sum. */
RM_HOST_EXTERN void rm_sum_exactly(const rm_sum_problem *p, rm_superaccumulator *acc);

/* The bits of the sum without a shift, rounded to its format, binary32 or binary64. It counts the tier in the statistics. */
uint64_t rm_sum_rounded(const rm_sum_problem *p, uint32_t *flags);
