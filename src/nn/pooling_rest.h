/* Averages of windows: the last tier. Also device code. */
#ifndef RM_NN_POOLING_REST_H
#define RM_NN_POOLING_REST_H

#include "decide.h"
#include "pooling_sum.h"

#define RM_NUM near
#include "pooling_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "pooling_exact.h"
#undef RM_NUM

/* uniform: all elements are divided by the same number. */
RM_LOCAL uint64_t rm_pool_exactly(const rm_pool_window *w, int64_t divisor, int uniform, rm_row_state *state) {
  const rm_pooling *f = w->pool;
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  for (int64_t a = w->first[0]; a < w->end[0]; a++)
    for (int64_t b = w->first[1]; b < w->end[1]; b++)
      for (int64_t c = w->first[2]; c < w->end[2]; c++) {
        const uint64_t bits = rm_read_bits(rm_pool_element(f, w->plane, a, b, c), f->format);
        if (rm_is_signalling(bits, f->format))
          acc.classes |= RM_ACC_SNAN;
        else
          rm_superacc_add(&acc, rm_to_double(bits, f->format));
      }
  if (!acc.classes && !uniform) return rm_decide(rm_pool_quotients_near, rm_pool_quotients_ball, (void *)(uintptr_t)w, 0, f->format, state);
  state->tiers.accumulator++;
  if (acc.classes) return rm_superacc_round_classes(acc.classes, f->format, &state->flags);
  const rm_sum_function function = {(uint64_t)divisor, 0, 0};
  return rm_function_of_top(&function, rm_superacc_get_top(&acc), f->format, &state->flags);
}

#endif
