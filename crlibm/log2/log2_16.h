/* log2 for the 16-bit formats in binary32 (log_16.h). */
#ifndef RM_LOG2_16_H
#define RM_LOG2_16_H

#include "../log/log_16.h"

#define RM_16_log2 RM_NARROW_FULL
#define RM_16_KNOWN_log2 1
#define RM_16_INPUTS_log2 ((struct rm_inputs16){1, 0x7bff, 0, {0}}) /* x > 0 */
#define RM_16_ERR_log2(format) 0.0f /* all inputs were run: narrow.h */
#define RM_16_CLAIM_log2(format) 0x1.9p-20

#if RM_NARROW_FULL

RM_FN vf32 rm_log2_16(const vf32 *x, const int format) {
  (void)format;
  return rm_log_16_of(x[0], 1.0f, rm_log2_16_p, rm_log2_16_l);
}

#endif
#endif
