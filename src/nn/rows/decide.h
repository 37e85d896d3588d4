/* The accurate phase of composite operators evaluates a value in double-double, then in balls of growing precision, until one
 * rounds.
 *
 * Formulas divide once, at their end, and their dividends are exact where they are rational: so a value that is a boundary of
 * rounding is exact in a ball that holds it, and rounds at once. Enough limbs tell any other value from a boundary, but how
 * many are enough is not known for transcendental values and for sums of roots. Where RM_BALL_LIMBS do not suffice the result
 * is undecided, which no operator may ignore: the result is NaN, state->failure says so, and rm_each_row returns
 * RM_ERR_UNDECIDED. Where an operator knows that its values are boundaries or at least 2^separation from every one, an
 * interval that is narrower and holds a boundary is that boundary (ball_round.h), at the first precision that gives one. In
 * sums whose irrational parts may cancel, operators search for exact cancellations (cancel.h, row_cancel.h with logarithms.h,
 * norm/weight_classes.h). */
#pragma once

#include "../../../crlibm/enclosure/ball.h"
#include "../../../crlibm/enclosure/dd_ball.h"
#include "parallel.h"

enum { RM_FIRST_LIMBS = 4 };
#define RM_TAIL_BITS (-11818) /* 2^-11819 < e^-8192 < 2^-11818: the tail of a loss consists of smaller exponentials */

/* A function that evaluates result i; limbs is the precision of a ball. */
typedef void rm_dd_ball_value_fn(rm_dd_ball *value, void *row, int64_t i, int limbs);
typedef void rm_ball_value_fn(rm_ball *value, void *row, int64_t i, int limbs);

/* A compiler for a device has to know which functions are called, and their stacks. */
#if RM_DEVICE
#define RM_DECIDE RM_FN
#else
#define RM_DECIDE
#endif

/* These return the rounded value as bits of the format, NaN where it is undecided, and count the phase. A device may defer
 * the row (rm_row_defer). */
RM_DECIDE uint64_t rm_decide(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i, int format,
                             rm_row_state *state);
RM_DECIDE uint64_t rm_decide_separated(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i,
                                       int64_t separation, int format, rm_row_state *state);
/* Evaluates in balls alone; INT64_MIN says that no separation is known. */
RM_DECIDE uint64_t rm_decide_in_balls(rm_ball_value_fn *ball, void *row, int64_t i, int64_t separation, int format,
                                      rm_row_state *state);

#if !RM_DEVICE
/* Rounds result i, at `out`, under its word; it is left where double-double does not decide that. NULL leaves it at once. */
void rm_decide_at_random(rm_dd_ball_value_fn *dd_ball, void *row, int64_t i, const rm_row_balls *balls, char *out, int format,
                         rm_row_state *state);
#endif
