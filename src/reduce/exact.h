/* Exact sums and dot products are the last tier, which always decides. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "superaccumulator.h"

/* Adds the terms x[i], or x[i] y[i], of format fmt; strides in bytes. Signalling NaNs are seen. */
RM_HOST_EXTERN void rm_superacc_add_array(rm_superaccumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t sx);
RM_HOST_EXTERN void rm_superacc_add_products(rm_superaccumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t sx,
                                             const void *y, ptrdiff_t sy);

/* The infinities and NaNs among n elements. */
RM_HOST_EXTERN uint32_t rm_superacc_classes(int fmt, int64_t n, const void *x, ptrdiff_t sx);

/* The total of a public accumulator. */
struct rm_accumulator;
const rm_superaccumulator *rm_accumulator_sum(const struct rm_accumulator *acc);
