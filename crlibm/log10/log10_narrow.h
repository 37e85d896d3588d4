/* log10 in binary32 (simd/narrow.h): log x in two parts times 1/ln10 in two parts (log_narrow.h). */
#ifndef RM_LOG10_NARROW_H
#define RM_LOG10_NARROW_H

#include "../log/log_narrow.h"

#define RM_NARROW_log10 RM_NARROW

#if RM_NARROW

RM_FN vm32 rm_log10_narrow(vf32 x, vf32 *y) {
  return rm_log_narrow_times(x, RM_LOG_NARROW_INV_LN10, RM_LOG_NARROW_INV_LN10_LO, y);
}

#endif
#endif
