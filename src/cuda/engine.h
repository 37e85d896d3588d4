/* The exact arithmetic of src/blas as device code: the CPU's sources, in one translation unit. */
#pragma once

extern "C" {
#include "../blas/gemm/views.h" /* declares argument checks, which are C */
}
#include "../blas/gemm/kernels.h"

#include "../blas/gemm/resolve_b64.h"
#include "exact_sums.h"

#include "../blas/conv/im2col_view.inl"

#include "../blas/gemm/exact.inl"
#include "../blas/gemm/vector_facts.inl"
