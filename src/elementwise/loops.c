/* The elementwise loops, compiled once per ISA: load, evaluate, test, store; undecided and special lanes again, one by one, by
 * the slow path. */
#include "../dispatch/kernels.h"
#include "../../crlibm/erf/erf.h"
#include "../../crlibm/exp/exp.h"
#include "../../crlibm/log/log.h"
#include "../../crlibm/tanh/tanh.h"
#include "map.h"

#define RM_FUNCTION(name, NAME, hard, doc) RM_MAP_FUNCTION(name, NAME)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

extern rm_map_fn *const RM_ISA_SYMBOL(rm_map_table)[RM_FN_COUNT][RM_FORMATS];
rm_map_fn *const RM_ISA_SYMBOL(rm_map_table)[RM_FN_COUNT][RM_FORMATS] = {
#define RM_FUNCTION(name, NAME, hard, doc) {map_##name##_f16, map_##name##_bf16, map_##name##_f32, map_##name##_f64},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
