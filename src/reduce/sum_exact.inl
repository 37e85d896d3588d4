/* The last tier of sums. It is also device code. */
#include "../common/elements.h"
#include "exact.h"
#include "sum.h"

RM_HOST_EXTERN void rm_sum_feed(const rm_sum_problem *p, int64_t begin, int64_t end, rm_superaccumulator *acc) {
  const char *x = p->x.base + begin * p->x.stride;
  if (p->y.base)
    rm_superacc_add_products(acc, p->fmt, end - begin, x, p->x.stride, p->y.base + begin * p->y.stride, p->y.stride);
  else rm_superacc_add_array(acc, p->fmt, end - begin, x, p->x.stride);
}

/* Of products without a NaN among their factors the classes of those that an infinity is in. */
RM_FN uint32_t rm_infinite_products(const rm_sum_problem *p, const int fmt) {
  uint32_t classes = 0;
  const char *x = p->x.base, *y = p->y.base;
  for (int64_t i = 0; i < p->n; i++, x += p->x.stride, y += p->y.stride) {
    const double a = rm_read_element(x, fmt), b = rm_read_element(y, fmt), c = a * b;
    if (c - c == 0.0 || (rm_is_finite(a) && rm_is_finite(b))) continue;
    classes |= rm_is_nan(c) ? RM_ACC_ZERO_INF : c < 0.0 ? RM_ACC_NINF : RM_ACC_PINF;
  }
  return classes;
}
RM_STATIC uint32_t rm_infinite_products_of(const rm_sum_problem *p) {
  switch (p->fmt) {
    case RM_F16: return rm_infinite_products(p, RM_F16);
    case RM_BF16: return rm_infinite_products(p, RM_BF16);
    case RM_F32: return rm_infinite_products(p, RM_F32);
    default: return rm_infinite_products(p, RM_F64);
  }
}

RM_HOST_EXTERN uint32_t rm_sum_classes(const rm_sum_problem *p) {
  const uint32_t nan = RM_ACC_QNAN | RM_ACC_SNAN;
  uint32_t classes = rm_superacc_classes(p->fmt, p->n, p->x.base, p->x.stride);
  if (p->y.base) {
    const int square = p->y.base == p->x.base && p->y.stride == p->x.stride;
    classes |= square ? 0 : rm_superacc_classes(p->fmt, p->n, p->y.base, p->y.stride);
    if (square && !(classes & nan)) classes = classes ? RM_ACC_PINF : 0;
    else if (classes & nan) classes &= nan;
    else if (classes) classes = rm_infinite_products_of(p);
  }
  return classes;
}

RM_HOST_EXTERN void rm_sum_exactly(const rm_sum_problem *p, rm_superaccumulator *acc) {
  rm_superacc_clear(acc);
  const uint32_t classes = rm_sum_classes(p);
  if (RM_UNLIKELY(classes)) { /* nothing else counts */
    acc->classes = classes;
    return;
  }
  rm_sum_feed(p, 0, p->n, acc);
}
