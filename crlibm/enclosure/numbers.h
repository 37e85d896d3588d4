/* One formula for two arithmetics. A header that is included once with RM_NUM defined as dd_ball (dd_ball.h) and once as ball
 * (ball.h) declares its numbers as RM_NUM_T and calls RM_NUM_(add)(&r, &a, &b), which is rm_dd_ball_add or rm_ball_add;
 * RM_NUM_NAME(f) is a name of its own for a function of the formula, f_dd_ball or f_ball. */
#pragma once

#include "../config.h"

#define RM_NUM_T RM_CAT(rm_, RM_NUM)
#define RM_NUM_(operation) RM_CAT(RM_CAT(rm_, RM_NUM), RM_CAT(_, operation))
#define RM_NUM_NAME(f) RM_CAT(f, RM_CAT(_, RM_NUM))

/* A function of a formula: a device compiles it once, not into each of its callers. */
#if RM_DEVICE
#define RM_FORMULA RM_COLD
#else
#define RM_FORMULA RM_STATIC
#endif

/* What sign and compare return when the error leaves it undecided. */
enum { RM_SIGN_UNKNOWN = 2 };
