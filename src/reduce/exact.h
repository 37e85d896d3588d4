/* Exact sums and dot products: the last tier, which always decides. */
#ifndef RM_REDUCE_EXACT_H
#define RM_REDUCE_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "superaccumulator.h"

RM_SHARED void rm_superacc_add_array_f32(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx);
RM_SHARED void rm_superacc_add_array_f64(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx);
RM_SHARED void rm_superacc_add_products_f32(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx, const void *y,
                                  ptrdiff_t sy);
RM_SHARED void rm_superacc_add_products_f64(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx, const void *y,
                                  ptrdiff_t sy);

#endif
