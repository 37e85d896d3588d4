/* The vector sums, compiled once per ISA. */
#include "../dispatch/kernels.h"
#include "chains.h"

extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table) = {rm_plain, rm_compensated, rm_deviations, rm_multiples};
