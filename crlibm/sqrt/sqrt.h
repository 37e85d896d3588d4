/* sqrt: the machine's operation (simd/machine.h). */
#pragma once

#include "../simd/machine.h"

RM_FN vm64 rm_sqrt_special(vf64 x, int format) { return vf64_not_finite(vf64_sqrt(x), format); }

RM_FN vm64 rm_sqrt_decided(vf64 x, int format, vf64 *y) {
  (void)format;
  return vf64_decide_machine(vf64_sqrt(x), y);
}

RM_MACHINE_FAST_PHASE(sqrt, vf64_sqrt(x[0]))

RM_MACHINE_SPANS(sqrt, 1, vf32_sqrt(x[0]))
#if RM_HAS_VF32
#define RM_SPAN_sqrt_f16 , rm_sqrt_span_f16
#define RM_SPAN_sqrt_bf16 , rm_sqrt_span_bf16
#define RM_SPAN_sqrt_f32 , rm_sqrt_span_f32
#endif
