/* Truncated normal numbers: X = mean + std Phi^-1((1 - U) Phi(a) + U Phi(b)), U = (d + 1/2) 2^-64 for the draw d, a = (low
 * - mean)/std and b = (high - mean)/std. What a call computes once, and the exact rounding of what the vector steps leave
 * undecided. */
#pragma once

#include "../../crlibm/config.h"
#include "kernels.h"

/* The tails beyond both ends, twice each, in two parts: t->tails (kernels.h). */
RM_HOST_EXTERN void rm_truncation_prepare(struct rm_truncation *t);

/* The bits of RN(X); guess, a number near X. Returns RM_FLAG_* bits in *flags. */
RM_HOST_EXTERN uint64_t rm_truncated_exactly(uint64_t draw, const struct rm_truncation *t, double guess, int format,
                                             uint32_t *flags);
