/* Matmul by the superaccumulator alone: the reference that every other path must equal. */
#ifndef RM_BLAS_EXACT_GEMM_H
#define RM_BLAS_EXACT_GEMM_H

#include "../../crlibm/config.h"
#include "views.h"

/* Element (i, j) of the problem, exactly rounded; RM_FLAG_* bits are ORed into *flags. */
RM_SHARED float rm_exact_element_f32(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags);
RM_SHARED double rm_exact_element_f64(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags);

#endif
