/* Superaccumulators as device code: the CPU's sources. */
#ifndef RM_CUDA_EXACT_SUMS_H
#define RM_CUDA_EXACT_SUMS_H

#include "../common/elements.h"
#include "../reduce/exact.h"

#include "../reduce/superaccumulator.inl"

#include "../reduce/exact.inl"

#endif
