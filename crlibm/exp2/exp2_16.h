/* exp2 for the 16-bit formats in binary32 (exp_16.h). */
#ifndef RM_EXP2_16_H
#define RM_EXP2_16_H

#include "../exp/exp_16.h"

#define RM_16_exp2 RM_NARROW_FULL
#define RM_16_KNOWN_exp2 1
#define RM_16_INPUTS_exp2 ((struct rm_inputs16){0, 0x4b80, 1, {0x11c5}}) /* |x| <= 15 */
#define RM_16_ERR_exp2(format) 0.0f /* all inputs were run: narrow.h */
#define RM_16_CLAIM_exp2(format) 0x1.8p-22

#if RM_NARROW_FULL

RM_FN vf32 rm_exp2_16(const vf32 *x, const int format) {
  (void)format;
  const vf32 k = vf32_integer(x[0]);
  return rm_exp_16_sum(vf32_sub(x[0], k), k, rm_exp2_16_p);
}

#endif
#endif
