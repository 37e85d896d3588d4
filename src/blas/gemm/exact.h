/* The last tier of the matrix engines computes one element by the superaccumulator. */
#pragma once

#include "../../reduce/superaccumulator.h"
#include "views.h"

/* The exact sum of the products of C[i,j]. */
RM_HOST_EXTERN void rm_exact_sum_products(rm_superaccumulator *acc, const rm_matmul_problem *p, int64_t i, int64_t j);

/* The bits of C[i,j]. */
RM_HOST_EXTERN uint64_t rm_exact_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags);

/* Whether terms that are not finite decide C[i,j], whose bits *bits then are: not where all of them would be products of
 * padding. The row of A and the column of B have no other classes than these (RM_ACC_ bits). The bias counts. */
RM_HOST_EXTERN int rm_special_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t row, uint32_t column,
                                      uint64_t *bits, uint32_t *flags);
enum { RM_ACC_ANY = RM_ACC_QNAN | RM_ACC_SNAN | RM_ACC_PINF | RM_ACC_NINF };

/* The bits of RN(alpha S + beta d), S the sum of C[i,j]'s products, for a problem with alpha_beta; d has the bits `old`. */
RM_HOST_EXTERN uint64_t rm_exact_alpha_beta(const rm_matmul_problem *p, int64_t i, int64_t j, uint64_t old, uint32_t *flags);

/* The same where a term that is not finite decides: 1 and *bits, else 0. sum: that of the products, or any number of its
 * sign; classes: the NaNs among their factors. A sum of unknown sign may be any finite number where d, or a factor, is
 * NaN. */
RM_HOST_EXTERN int rm_special_alpha_beta(const rm_matmul_problem *p, double sum, uint32_t classes, uint64_t old,
                                         uint64_t *bits, uint32_t *flags);
