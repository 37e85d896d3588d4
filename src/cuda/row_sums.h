/* Sums of rows with their bounds, and exact ones, as device code: the CPU's sources. */
#pragma once

#include "../reduce/chains.h"
#include "../reduce/sum_parts.h"

#include "exact_sums.h"

#include "../reduce/sum_exact.inl"
