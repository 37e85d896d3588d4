/* The slow tiers of composite operators: a value in double-double, then in balls of growing precision, until one rounds.
 *
 * Formulas divide once, at their end, and what they divide is exact where it is rational: so a value that is a boundary of rounding is exact in
 * a ball that holds it, and rounds at once. Other values are told from a boundary by enough limbs, but how many is not known of transcendental
 * ones, and of sums of roots: where RM_BALL_LIMBS do not do it the result is undecided, which no operator may pass over: it is NaN,
 * state->undecided says so, and rm_each_row returns RM_ERR_UNDECIDED. Where an operator knows that its values are boundaries or at least 2^separation
 * from every one, an interval that is narrower and holds a boundary is that boundary (ball_round.h), at the first precision that gives one.
 * In sums whose irrational parts may cancel, exact cancellations are searched for (cancel.h, row_cancel.h with logarithms.h,
 * norm/weight_classes.h). */
#ifndef RM_NN_ROWS_DECIDE_H
#define RM_NN_ROWS_DECIDE_H

#include "../../../crlibm/enclosure/ball.h"
#include "../../../crlibm/enclosure/dd_ball.h"
#include "parallel.h"

enum { RM_FIRST_LIMBS = 4 };
#define RM_TAIL_BITS (-11818) /* 2^-11819 < e^-8192 < 2^-11818: losses call exponentials below that their tail */

/* The value of result i; limbs: the precision of a ball. */
typedef void rm_dd_ball_value_fn(rm_dd_ball *value, void *row, int64_t i, int limbs);
typedef void rm_ball_value_fn(rm_ball *value, void *row, int64_t i, int limbs);

/* A device's compiler has to know which functions are called, and their stacks. */
#if RM_DEVICE
#define RM_DECIDE RM_FN
#else
#define RM_DECIDE
#endif

/* RN of it as bits of the format; counts; NaN when undecided. On a device it may be left to another kernel (rm_row_left). */
RM_DECIDE uint64_t rm_decide(rm_dd_ball_value_fn *near, rm_ball_value_fn *ball, void *row, int64_t i, int format, rm_row_state *state);
RM_DECIDE uint64_t rm_decide_separated(rm_dd_ball_value_fn *near, rm_ball_value_fn *ball, void *row, int64_t i, int64_t separation, int format,
                                       rm_row_state *state);
/* By balls alone; a separation of INT64_MIN is none. */
RM_DECIDE uint64_t rm_decide_widely(rm_ball_value_fn *ball, void *row, int64_t i, int64_t separation, int format, rm_row_state *state);

#endif
