/* x y: the machine's operation (simd/machine.h). */
#pragma once

#include "../simd/machine.h"

RM_FN vm64 rm_multiply_decided(vf64 x, vf64 y, int format, vf64 *result) {
  (void)format;
  return vf64_decide_machine(vf64_mul(x, y), result);
}

RM_MACHINE_FAST_PHASE(multiply, vf64_mul(x[0], x[1]))

RM_MACHINE_SPANS(multiply, 2, vf32_mul(x[0], x[1]))
#if RM_HAS_VF32
#define RM_SPAN_multiply_f16 , rm_multiply_span_f16
#define RM_SPAN_multiply_bf16 , rm_multiply_span_bf16
#define RM_SPAN_multiply_f32 , rm_multiply_span_f32
#endif
