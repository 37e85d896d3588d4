#include "../dispatch/kernels.h"
#include "../../crlibm/config.h"
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);
const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table) = {0};
