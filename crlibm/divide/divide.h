/* x / y: the machine's operation (simd/machine.h). */
#pragma once

#include "../simd/machine.h"

RM_FN vm64 rm_divide_decided(vf64 x, vf64 y, int format, vf64 *result) {
  (void)format;
  return vf64_decide_machine(vf64_div(x, y), result);
}

RM_MACHINE_FAST_PHASE(divide, vf64_div(x[0], x[1]))

RM_MACHINE_SPANS(divide, 2, vf32_div(x[0], x[1]))
#if RM_HAS_VF32
#define RM_SPAN_divide_f16 , rm_divide_span_f16
#define RM_SPAN_divide_bf16 , rm_divide_span_bf16
#define RM_SPAN_divide_f32 , rm_divide_span_f32
#endif
