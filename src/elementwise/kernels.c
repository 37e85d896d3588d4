/* The table of the elementwise loops, compiled once per ISA. */
#include "../../crlibm/config.h"
#include "kernels.h"

#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc)         \
  extern rm_map_fn *const RM_ISA_SYMBOL(rm_map_##name)[RM_FORMATS]; \
  extern const int RM_ISA_SYMBOL(rm_direct16_##name);
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
extern rm_lookup16_fn RM_ISA_SYMBOL(rm_lookup16);
extern rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2];

const struct rm_map_kernels RM_ISA_SYMBOL(rm_map_table) = {
    {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) RM_ISA_SYMBOL(rm_map_##name),
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
    },
    {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) &RM_ISA_SYMBOL(rm_direct16_##name),
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
    },
    RM_ISA_SYMBOL(rm_lookup16),
    RM_ISA_SYMBOL(rm_gradient16),
    RM_SIMD == RM_SIMD_AVX2 || RM_SIMD == RM_SIMD_AVX512,
};
