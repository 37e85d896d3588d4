/* Exact sums of rows as device code. */
#ifndef RM_CUDA_ROW_SUMS_H
#define RM_CUDA_ROW_SUMS_H

#include "../reduce/chains.h"
#include "../reduce/exact.h"
#include "../reduce/sum_parts.h"

#include "../reduce/superaccumulator.c"

#include "../reduce/exact.c"
#include "../reduce/sum_exact.c"

#endif
