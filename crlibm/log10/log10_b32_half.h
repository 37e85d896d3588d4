/* log10 for the 16-bit formats in binary32 (log_b32_half.h). */
#pragma once

#include "../log/log_b32_half.h"

#define RM_HALF_log10 RM_B32_FULL
#define RM_HALF_KNOWN_log10 1
#define RM_HALF_INPUTS_log10 ((struct rm_inputs16){1, 0x7bff, 0, {0x338f, 0x57e1, 0x719d}}) /* x > 0 */
#define RM_HALF_ERR_log10(format) 0x1p-23f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_log10(format) 0x1.9p-20

#if RM_B32_FULL

RM_FN vf32 rm_log10_b32_half(const vf32 *x, const int format) {
  (void)format;
  return rm_log_b32_half_of(x[0], RM_LOG_B32_HALF_LOG10_2, rm_log10_b32_half_p, rm_log10_b32_half_l);
}

#endif
