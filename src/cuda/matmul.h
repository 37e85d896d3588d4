/* Matrix products on a device: problems of blas/gemm/views.h with device pointers, whose arguments have been checked. */
#pragma once

#include "../../include/repmath/cuda.h"

extern "C" {
#include "../blas/gemm/views.h" /* declares argument checks, which are C */
}

rm_status rm_cuda_matmul_run(const rm_matmul_problem *p, rm_cuda_stream stream);

/* Its engines: f32, f16 and bf16 in binary64, and f64 in double-double; or products of integers, if a device with this ratio
 * (integer_ratio.h) gains by them. */
rm_status rm_cuda_matmul_b64(const rm_matmul_problem *p, double ratio, rm_cuda_stream stream);
rm_status rm_cuda_matmul_dd(const rm_matmul_problem *p, double ratio, rm_cuda_stream stream);
/* The latter, which mark undecided elements in the bitmap. false: they do not pay, or cannot be launched, and nothing was
 * written. */
bool rm_cuda_matmul_crt(const rm_matmul_problem *p, uint32_t *undecided, double ratio, rm_cuda_stream stream);
