/* log10 in binary32 (simd/narrow.h): log x in two parts times 1/ln10 in two parts (log_narrow.h). */
#ifndef RM_LOG10_NARROW_H
#define RM_LOG10_NARROW_H

#include "../log/log_narrow.h"

/* log's 2^-21.5, the constant 2^-25 and the product 2^-24. */
#define RM_LOG10_NEAR_ERR RM_BOUND(0x1p-21f)
/* |log10 x| >= 2^-13 in f16, above the least normal number, 2^-14. */
#define RM_LOG10_NEAR_NORMAL 1

#if RM_NARROW

RM_FN vm32 rm_log10_narrow(vf32 x, vf32 *y) {
  return rm_log_narrow_times(x, RM_LOG_NARROW_INV_LN10, RM_LOG_NARROW_INV_LN10_LO, y);
}

RM_FN vf32 rm_log10_near(vf32 x) { return vf32_mul(rm_log_near(x), vf32_set1(RM_LOG_NARROW_INV_LN10)); }

#endif
#endif
