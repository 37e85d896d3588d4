/* log2 for the 16-bit formats in binary32 (log_b32_half.h). */
#pragma once

#include "../log/log_b32_half.h"

#define RM_HALF_log2 RM_B32_FULL
#define RM_HALF_KNOWN_log2 1
#define RM_HALF_INPUTS_log2 ((struct rm_inputs16){1, 0x7bff, 0, {0}}) /* x > 0 */
#define RM_HALF_ERR_log2(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_log2(format) 0x1.9p-20

#if RM_B32_FULL

RM_FN vf32 rm_log2_b32_half(const vf32 *x, const int format) {
  (void)format;
  return rm_log_b32_half_of(x[0], 1.0f, rm_log2_b32_half_p, rm_log2_b32_half_l);
}

#endif
