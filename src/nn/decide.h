/* The slow tiers of composite operators: a value in double-double, then in balls of growing precision, until one rounds.
 *
 * Values are transcendental but where an operator has answered before, or algebraic: then at RM_BALL_LIMBS an interval that still
 * holds a boundary is that boundary (the operator's file says why). */
#ifndef RM_NN_DECIDE_H
#define RM_NN_DECIDE_H

#include "../../crlibm/fp/ball.h"
#include "../../crlibm/fp/near.h"
#include "row_loop.h"

/* The value of result i; limbs: the precision of a ball. */
typedef void rm_near_value_fn(rm_near *value, void *row, int64_t i, int limbs);
typedef void rm_ball_value_fn(rm_ball *value, void *row, int64_t i, int limbs);

/* A device's compiler has to know which functions are called, and their stacks. */
#if RM_DEVICE
#define RM_DECIDE RM_FN
#else
#define RM_DECIDE
#endif

/* RN of it as bits of the format; counts. On a device it may be left to another kernel (rm_row_left). */
RM_DECIDE uint64_t rm_decide(rm_near_value_fn *near, rm_ball_value_fn *ball, void *row, int64_t i, int format, rm_row_state *state);

#endif
