/* Row operations, compiled once per ISA. */
#include "../dispatch/kernels.h"
#include "rows.h"

extern const struct rm_loss_kernels RM_ISA_SYMBOL(rm_loss_table);
extern const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table);
extern const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table);
const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table) = {
    rm_row_load, rm_row_greatest, rm_row_exponentials, rm_row_moments, rm_row_weighted, rm_row_columns, rm_row_round,
    &RM_ISA_SYMBOL(rm_loss_table), &RM_ISA_SYMBOL(rm_pool_table)};
