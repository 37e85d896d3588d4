/* The last tier of scatter sums. It is also device code. */
#include "scatter.h"

#include "../common/elements.h"
#include "exact.h"

RM_STATIC int rm_bits_are_finite(const char *x, int format) {
  return (~rm_read_bits(x, format) & rm_infinity_bits(format)) != 0;
}

/* rm_scatter_exactly, with an accumulator that the caller has room for. */
RM_STATIC uint64_t rm_scatter_exactly_in(rm_superaccumulator *acc, const rm_scatter_problem *p, const rm_segment *s,
                                         int64_t col, uint32_t *flags) {
  const char *src = p->src.base + col * p->src.col, *old = p->out.base + s->row * p->out.row + col * p->out.col;
  acc->classes = 0;
  for (int64_t t = -p->add; t < s->n; t++) { /* terms that are not finite touch the classes only */
    const char *term = t < 0 ? old : src + s->terms[t] * p->src.row;
    if (!rm_bits_are_finite(term, p->format)) rm_superacc_add_array(acc, p->format, 1, term, 0);
  }
  if (acc->classes) return rm_superacc_round_classes(acc->classes, p->format, flags);
  rm_superacc_clear(acc);
  for (int64_t t = -p->add; t < s->n; t++)
    rm_superacc_add_array(acc, p->format, 1, t < 0 ? old : src + s->terms[t] * p->src.row, 0);
  return rm_superacc_round(acc, p->format, RM_NEAREST, flags);
}
RM_HOST_EXTERN uint64_t rm_scatter_exactly(const rm_scatter_problem *p, const rm_segment *s, int64_t col, uint32_t *flags) {
  rm_superaccumulator acc;
  return rm_scatter_exactly_in(&acc, p, s, col, flags);
}
