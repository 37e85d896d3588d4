/* exp2 for the 16-bit formats in binary32 (exp_b32_half.h). */
#pragma once

#include "../exp/exp_b32_half.h"

#define RM_HALF_exp2 RM_B32_FULL
#define RM_HALF_KNOWN_exp2 1
#define RM_HALF_INPUTS_exp2 ((struct rm_inputs16){0, 0x4b80, 1, {0x11c5}}) /* |x| <= 15 */
#define RM_HALF_ERR_exp2(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_exp2(format) 0x1.8p-22

#if RM_B32_FULL

RM_FN vf32 rm_exp2_b32_half(const vf32 *x, const int format) {
  (void)format;
  const vf32 k = vf32_integer(x[0]);
  return rm_exp_b32_half_sum(vf32_sub(x[0], k), k, rm_exp2_b32_half_p);
}

#endif
