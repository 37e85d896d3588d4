/* Matrix products on a device: problems of blas/gemm/views.h with device pointers, whose arguments have been checked. */
#pragma once

#include "../../include/repmath/cuda.h"

extern "C" {
#include "../blas/gemm/views.h" /* declares argument checks, which are C */
}

rm_status rm_cuda_matmul_run(const rm_matmul_problem *p, rm_cuda_stream stream);

/* Its engines: f32, f16 and bf16 in binary64, and f64 in double-double. */
rm_status rm_cuda_matmul_b64(const rm_matmul_problem *p, rm_cuda_stream stream);
rm_status rm_cuda_matmul_dd(const rm_matmul_problem *p, rm_cuda_stream stream);
