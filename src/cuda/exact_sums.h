/* Superaccumulators as device code. */
#ifndef RM_CUDA_EXACT_SUMS_H
#define RM_CUDA_EXACT_SUMS_H

#include "../reduce/elements.h"
#include "../reduce/exact.h"

#include "../reduce/superaccumulator.c"

#include "../reduce/exact.c"

#endif
