#include "../dispatch/kernels.h"
#include "../../crlibm/config.h"
extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table) = {0};
