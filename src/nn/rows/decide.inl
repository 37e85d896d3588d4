/* The phases after the fast one (decide.h). It is also device code. */
#include "decide.h"
#if !RM_DEVICE
#include "../../common/elements.h"
#include "../../common/rounding_words.h"
#endif

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

/* Whether double-double decides the rounding of result i: then to *bits. */
RM_FN int rm_decide_in_dd_ball(rm_dd_ball_value_fn *dd_ball, void *row, int64_t i, int format, rm_mode mode, uint32_t *flags,
                               rm_row_state *state, uint64_t *bits) {
  rm_dd_ball v;
  dd_ball(&v, row, i, 0);
  if (!rm_dd_ball_round(&v, format, mode, flags, bits)) return 0;
  state->tiers.double_double++;
  return 1;
}

RM_DECIDE uint64_t rm_decide_separated(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i,
                                       int64_t separation, int format, rm_row_state *state) {
  uint64_t bits;
  if (rm_decide_in_dd_ball(dd_ball, row, i, format, RM_NEAREST, &state->flags, state, &bits)) return bits;
  if (rm_row_defer(state)) return 0;
  return rm_decide_in_balls(ball, row, i, separation, format, state);
}

RM_DECIDE uint64_t rm_decide(rm_dd_ball_value_fn *dd_ball, rm_ball_value_fn *ball, void *row, int64_t i, int format,
                             rm_row_state *state) {
  return rm_decide_separated(dd_ball, ball, row, i, INT64_MIN, format, state);
}

#if !RM_DEVICE
/* rm_dd_ball_round knows the thresholds of each mode, and dd_ball bounds the value itself: nothing is asked of what is
 * separated from a boundary, and what is exact there is left. */
void rm_decide_at_random(rm_dd_ball_value_fn *dd_ball, void *row, int64_t i, const rm_row_balls *balls, char *out, int format,
                         rm_row_state *state) {
  const int64_t at = (out - balls->origin) / rm_size_of(format);
  rm_rounding_words words = rm_rounding_words_of(balls->rounding);
  const rm_mode mode = rm_random_mode(balls->rounding->mode, rm_rounding_word(&words, balls->rounding->first + at));
  uint32_t ignored = 0;
  uint64_t bits;
  if (dd_ball && rm_decide_in_dd_ball(dd_ball, row, i, format, mode, &ignored, state, &bits))
    rm_write_bits(out, bits, format);
  else rm_row_leave(balls, at);
}
#endif
