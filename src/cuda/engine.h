/* The engine's exact arithmetic as device code: the files of the CPU library, in one translation unit. */
#ifndef RM_CUDA_ENGINE_H
#define RM_CUDA_ENGINE_H

extern "C" {
#include "../blas/views.h" /* declares argument checks, which are C */
}
#include "../blas/kernels.h"

#include "../blas/resolve_f32.h"
#include "exact_sums.h"

#include "../blas/patches.c"

#include "../blas/exact_gemm.c"
#include "../blas/lines.c"

#endif
