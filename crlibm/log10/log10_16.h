/* log10 for the 16-bit formats in binary32 (log_16.h). */
#ifndef RM_LOG10_16_H
#define RM_LOG10_16_H

#include "../log/log_16.h"

#define RM_16_log10 RM_NARROW_FULL
#define RM_16_KNOWN_log10 1
#define RM_16_INPUTS_log10 ((struct rm_inputs16){1, 0x7bff, 0, {0x338f, 0x57e1, 0x719d}}) /* x > 0 */
#define RM_16_ERR_log10(format) 0x1p-23f /* all inputs were run: narrow.h */
#define RM_16_CLAIM_log10(format) 0x1.9p-20

#if RM_NARROW_FULL

RM_FN vf32 rm_log10_16(const vf32 *x, const int format) {
  (void)format;
  return rm_log_16_of(x[0], RM_LOG_16_LOG10_2, rm_log10_16_p, rm_log10_16_l);
}

#endif
#endif
