/* Rows of binary64, compiled once per ISA (rows/wide.h, wide_exp.h). */
#include "wide_exp.h"

#include "../../runtime/isa.h"

extern const struct rm_wide_kernels RM_ISA_SYMBOL(rm_wide_table);
const struct rm_wide_kernels RM_ISA_SYMBOL(rm_wide_table) = {
    rm_wide_affine, rm_wide_gradient_sums, rm_wide_centered, rm_wide_columns, rm_wide_exponentials,
    rm_wide_scaled, rm_wide_shifted,       rm_wide_less_exp, rm_wide_weights, rm_wide_difference,
};
