/* Products of matrices on a device: the problems of blas/gemm/views.h, whose arguments have been checked, with device pointers. */
#ifndef RM_CUDA_MATMUL_H
#define RM_CUDA_MATMUL_H

#include "../../include/repmath/cuda.h"

extern "C" {
#include "../blas/gemm/views.h" /* declares argument checks, which are C */
}

rm_status rm_cuda_matmul_run(const rm_matmul_problem *p, rm_cuda_stream stream);

/* Its engines: operands below binary64, and binary64. */
rm_status rm_cuda_matmul_narrow(const rm_matmul_problem *p, rm_cuda_stream stream);
rm_status rm_cuda_matmul_f64(const rm_matmul_problem *p, rm_cuda_stream stream);

#endif
