/* Runs the matrix engines over blocks and threads. */
#ifndef RM_BLAS_GEMM_MATMUL_H
#define RM_BLAS_GEMM_MATMUL_H

#include "views.h"

/* Solves a problem whose arguments have been checked. */
rm_status rm_matmul_run(const rm_matmul_problem *p);

#endif
