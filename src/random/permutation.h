/* A permutation by sorting draws. */
#pragma once

#include "kernels.h"

/* Writes the numbers 0 ... n - 1, n > 0, in the order of the draws of the problem's elements (spec.md, section 6), which
 * words64 makes. Returns 0 when there is no memory; nothing has been written then. */
int rm_permute(const rm_random_problem *problem, rm_random_fn *words64);
