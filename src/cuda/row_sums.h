/* Exact sums of rows as device code. */
#ifndef RM_CUDA_ROW_SUMS_H
#define RM_CUDA_ROW_SUMS_H

#include "../reduce/chains.h"
#include "../reduce/sum_parts.h"

#include "exact_sums.h"

#include "../reduce/sum_exact.inl"

#endif
