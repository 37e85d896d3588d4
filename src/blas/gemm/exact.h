/* The last tier of the matrix engines: one element by the superaccumulator. */
#pragma once

#include "../../reduce/superaccumulator.h"
#include "views.h"

/* The bits of C[i,j]. */
RM_HOST_EXTERN uint64_t rm_exact_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags);

/* The bits of RN(alpha S + beta d), S the sum of C[i,j]'s products, for a problem with alpha_beta; d has the bits `old`. */
RM_HOST_EXTERN uint64_t rm_exact_alpha_beta(const rm_matmul_problem *p, int64_t i, int64_t j, uint64_t old, uint32_t *flags);
