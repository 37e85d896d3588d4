/* A permutation by sorting draws. */
#ifndef RM_RANDOM_PERMUTATION_H
#define RM_RANDOM_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

/* out: the numbers 0 ... n - 1 in the order of the draws of elements first ... first + n - 1 (spec.md, section 6), n > 0;
 * distances of `stride` bytes. 0 when there is no memory; nothing has been written then. */
int rm_permute(uint64_t seed, uint64_t stream, int64_t first, int64_t n, char *out, ptrdiff_t stride);

#endif
