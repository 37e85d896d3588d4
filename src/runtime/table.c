/* One kernel table, compiled once per ISA. */
#include "../../crlibm/config.h"
#include "kernels.h"

#define RM_FUNCTION(name, NAME, arity, hard, doc)                   \
  extern rm_map_fn *const RM_ISA_SYMBOL(rm_map_##name)[RM_FORMATS]; \
  extern const int RM_ISA_SYMBOL(rm_direct16_##name);
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
extern rm_lookup16_fn RM_ISA_SYMBOL(rm_lookup16);
extern rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2];
extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);
extern const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table);
extern const struct rm_random_kernels RM_ISA_SYMBOL(rm_random_table);

extern const struct rm_kernels RM_ISA_SYMBOL(rm_kernels);
const struct rm_kernels RM_ISA_SYMBOL(rm_kernels) = {
    RM_ISA_NAME,
    {
#define RM_FUNCTION(name, NAME, arity, hard, doc) RM_ISA_SYMBOL(rm_map_##name),
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
    },
    {
#define RM_FUNCTION(name, NAME, arity, hard, doc) &RM_ISA_SYMBOL(rm_direct16_##name),
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
    },
    RM_ISA_SYMBOL(rm_lookup16),
    RM_ISA_SYMBOL(rm_gradient16),
    &RM_ISA_SYMBOL(rm_reduce_table),
    &RM_ISA_SYMBOL(rm_blas_table),
    &RM_ISA_SYMBOL(rm_nn_table),
    &RM_ISA_SYMBOL(rm_random_table),
    RM_SIMD == RM_SIMD_AVX2 || RM_SIMD == RM_SIMD_AVX512,
};
