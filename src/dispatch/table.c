/* One kernel table, compiled once per ISA. */
#include "../../crlibm/config.h"
#include "kernels.h"

extern rm_map_fn *const RM_ISA_SYMBOL(rm_map_table)[RM_FN_COUNT][RM_FORMATS];
extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);

extern const struct rm_kernels RM_ISA_SYMBOL(rm_kernels);
const struct rm_kernels RM_ISA_SYMBOL(rm_kernels) = {
    RM_ISA_NAME,
    RM_ISA_SYMBOL(rm_map_table),
    &RM_ISA_SYMBOL(rm_reduce_table),
    &RM_ISA_SYMBOL(rm_blas_table),
};
