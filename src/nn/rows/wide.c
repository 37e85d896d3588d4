/* Rows of binary64, compiled once per ISA (rows/wide.h). */
#include "wide.h"

#include "../../runtime/isa.h"

extern const struct rm_wide_kernels RM_ISA_SYMBOL(rm_wide_table);
const struct rm_wide_kernels RM_ISA_SYMBOL(rm_wide_table) = {rm_wide_affine, rm_wide_gradient_sums, rm_wide_centered,
                                                             rm_wide_columns};
