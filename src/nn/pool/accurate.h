/* Averages of windows in the accurate phase. It is also device code. */
#pragma once

#include "../rows/decide.h"
#include "sum.h"

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "formula.inc"
#undef RM_NUM

/* Sums of quotients by different divisors. These are products of the axes' parts, each at limit the length k of a window
 * there, and so below 2^63. A common multiple of an axis' n parts is below 3^k (lcm(1, ..., k), Hanson 1972) and below 2^(63
 * n): with the product of these bounds, 2^bits, the sum is a multiple of 2^-1074 over 2^bits, boundaries are multiples of
 * 2^-1075, and two that differ do so by 2^-(1075 + bits). A ball of RM_BALL_LIMBS shows 2^-24000 of sums below 2^1100;
 * elements of more windows, of longer ones, have no separation. */
RM_FN int64_t rm_pool_separation(const rm_pool_window *w) {
  const rm_pool_problem *f = w->pool;
  int64_t bits = 0;
  for (int i = 0; i < 3; i++) {
    const int64_t n = w->end[i] - w->first[i], limit = INT64_C(1) << 20;
    const int64_t k = f->windows.adaptive ? rm_pool_ceil_div(f->windows.in[i], rm_pool_max(f->windows.out[i], 1)) + 1
                                          : f->windows.kernel[i];
    const int64_t by_length = (k < limit ? k : limit) * 8 / 5 + 1, by_number = 63 * (n < limit ? n : limit);
    bits += by_length < by_number ? by_length : by_number;
  }
  return bits < 22400 ? -(1075 + bits) : INT64_MIN;
}

/* uniform: all elements are divided by the same number. */
RM_STATIC uint64_t rm_pool_exactly(const rm_pool_window *w, int64_t divisor, int uniform, rm_row_state *state) {
  const rm_pool_problem *f = w->pool;
  RM_BIG(rm_superaccumulator, acc, 1);
  rm_superacc_clear(acc);
  for (int64_t a = w->first[0]; a < w->end[0]; a++)
    for (int64_t b = w->first[1]; b < w->end[1]; b++)
      for (int64_t c = w->first[2]; c < w->end[2]; c++) {
        const uint64_t bits = rm_read_bits(rm_pool_element(f, w->plane, a, b, c), f->format);
        if (rm_is_signalling(bits, f->format)) acc->classes |= RM_ACC_SNAN;
        else rm_superacc_add(acc, rm_to_double(bits, f->format));
      }
  if (!acc->classes && !uniform)
    return rm_decide_separated(rm_pool_quotients_dd_ball, rm_pool_quotients_ball, (void *)(uintptr_t)w, 0,
                               rm_pool_separation(w), f->format, state);
  state->tiers.accumulator++;
  if (acc->classes) return rm_superacc_round_classes(acc->classes, f->format, &state->flags);
  const rm_sum_function function = {(uint64_t)divisor, 0, 0};
  return rm_function_of_top(&function, rm_superacc_get_top(acc), f->format, &state->flags);
}
