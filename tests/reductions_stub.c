/* The kernel table of one build with products and reductions alone, for libraries of these with other bounds (native.py). */
#include "../crlibm/config.h"
#include "../include/repmath/core.h"
#include "../src/runtime/kernels.h"

extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);

const struct rm_kernels *rm_kernels_get(void) {
  static struct rm_kernels table;
  table.name = RM_ISA_NAME;
  table.reduce = &RM_ISA_SYMBOL(rm_reduce_table);
  table.blas = &RM_ISA_SYMBOL(rm_blas_table);
  return &table;
}
const char *rm_isa(void) { return RM_ISA_NAME; }
