/* x - y: the machine's operation (simd/machine.h). */
#pragma once

#include "../simd/machine.h"

RM_FN vm64 rm_subtract_decided(vf64 x, vf64 y, int format, vf64 *result) {
  (void)format;
  return vf64_decide_machine(vf64_sub(x, y), result);
}

RM_MACHINE_FAST_PHASE(subtract, vf64_sub(x[0], x[1]))

RM_MACHINE_SPANS(subtract, 2, vf32_sub(x[0], x[1]))
#if RM_HAS_VF32
#define RM_SPAN_subtract_f16 , rm_subtract_span_f16
#define RM_SPAN_subtract_bf16 , rm_subtract_span_bf16
#define RM_SPAN_subtract_f32 , rm_subtract_span_f32
#endif
