/* Superaccumulators as device code: the CPU's sources. */
#pragma once

#include "../common/elements.h"
#include "../reduce/exact.h"

#include "../reduce/superaccumulator.inl"

#include "../reduce/exact.inl"
