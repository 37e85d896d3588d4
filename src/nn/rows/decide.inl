/* The phases after the fast one (decide.h). It is also device code. */
#include "decide.h"

RM_DECIDE uint64_t rm_decide_in_balls(rm_ball_value_fn *ball, void *row, int64_t i, int64_t separation, int format,
                                      rm_row_state *state) {
  uint64_t bits;
  rm_ball b;
  state->tiers.accumulator++;
  if (state->failure & RM_ROW_NO_MEMORY)
    return rm_nan_bits(format); /* the search for cancellations, which balls cannot show, was not made */
  for (int limbs = state->limbs ? state->limbs : RM_FIRST_LIMBS; limbs <= RM_BALL_LIMBS; limbs *= 2) {
    if (state->limbs) state->limbs = limbs;
    ball(&b, row, i, limbs);
    if (rm_ball_round_separated(&b, separation, format, RM_NEAREST, &state->flags, &bits)) return bits;
  }
  state->failure |= RM_ROW_UNDECIDED;
  return rm_nan_bits(format);
}

RM_DECIDE uint64_t rm_decide_separated(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i,
                                       int64_t separation, int format, rm_row_state *state) {
  uint64_t bits;
  rm_dd_ball v;
  dd_ball(&v, row, i, 0);
  if (rm_dd_ball_round(&v, format, RM_NEAREST, &state->flags, &bits)) {
    state->tiers.double_double++;
    return bits;
  }
  if (rm_row_defer(state)) return 0;
  return rm_decide_in_balls(ball, row, i, separation, format, state);
}

RM_DECIDE uint64_t rm_decide(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i, int format,
                             rm_row_state *state) {
  return rm_decide_separated(dd_ball, ball, row, i, INT64_MIN, format, state);
}
