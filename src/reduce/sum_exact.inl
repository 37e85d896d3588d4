/* Sums in the last tier. It is also device code. */
#include "exact.h"
#include "sum.h"

RM_HOST_EXTERN void rm_sum_feed(const rm_sum_problem *p, int64_t begin, int64_t end, rm_superaccumulator *acc) {
  const char *x = p->x.base + begin * p->x.stride;
  if (p->y.base)
    rm_superacc_add_products(acc, p->fmt, end - begin, x, p->x.stride, p->y.base + begin * p->y.stride, p->y.stride);
  else rm_superacc_add_array(acc, p->fmt, end - begin, x, p->x.stride);
}

RM_HOST_EXTERN void rm_sum_exactly(const rm_sum_problem *p, rm_superaccumulator *acc) {
  rm_superacc_clear(acc);
  rm_sum_feed(p, 0, p->n, acc);
}
