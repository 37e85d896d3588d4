/* The last tier of sums. It is also device code. */
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
  const uint32_t nan = RM_ACC_QNAN | RM_ACC_SNAN;
  uint32_t classes = rm_superacc_classes(p->fmt, p->n, p->x.base, p->x.stride);
  if (p->y.base) {
    const int square = p->y.base == p->x.base && p->y.stride == p->x.stride;
    classes |= square ? 0 : rm_superacc_classes(p->fmt, p->n, p->y.base, p->y.stride);
    if (square && !(classes & nan)) classes = classes ? RM_ACC_PINF : 0;
    else classes &= nan; /* infinite products need their factors' signs */
  }
  if (RM_UNLIKELY(classes)) { /* nothing else counts */
    acc->classes = classes;
    return;
  }
  rm_sum_feed(p, 0, p->n, acc);
}
