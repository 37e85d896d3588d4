/* Exact sums and dot products: the last tier, which always decides. */
#ifndef RM_REDUCE_EXACT_H
#define RM_REDUCE_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "superaccumulator.h"

#define RM_DECLARE_FEED(fmt)                                                                                     \
  RM_SHARED void rm_superacc_add_array_##fmt(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx);  \
  RM_SHARED void rm_superacc_add_products_##fmt(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx, \
                                                const void *y, ptrdiff_t sy);
RM_DECLARE_FEED(f16)
RM_DECLARE_FEED(bf16)
RM_DECLARE_FEED(f32)
RM_DECLARE_FEED(f64)
#undef RM_DECLARE_FEED

#endif
