/* The matrix engines, compiled once per ISA. */
#include "kernels.h"
#include "gemm_dd.h"
#include "gemm_b64.h"

const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table) = {
    {
        [RM_F16] = {RM_MR, RM_NR, rm_work_b64, rm_block_f16, rm_help_f16},
        [RM_BF16] = {RM_MR, RM_NR, rm_work_b64, rm_block_bf16, rm_help_bf16},
        [RM_F32] = {RM_MR, RM_NR, rm_work_b64, rm_block_f32, rm_help_f32},
        [RM_F64] = {RM_AW2, RM_NR2, rm_work_dd, rm_block_f64, 0},
    },
    rm_resolve_block_b64};
