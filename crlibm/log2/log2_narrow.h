/* log2 in binary32 (simd/narrow.h): log x in two parts times 1/ln2 in two parts (log_narrow.h). */
#ifndef RM_LOG2_NARROW_H
#define RM_LOG2_NARROW_H

#include "../log/log_narrow.h"

/* log's 2^-21.5, the constant 2^-25 and the product 2^-24. */
#define RM_LOG2_NEAR_ERR RM_BOUND(0x1p-21f)
/* |log2 x| >= 2^-13 in f16. */
#define RM_LOG2_NEAR_NORMAL 1

#if RM_NARROW

RM_FN vm32 rm_log2_narrow(vf32 x, vf32 *y) {
  return rm_log_narrow_times(x, RM_LOG_NARROW_INV_LN2, RM_LOG_NARROW_INV_LN2_LO, y);
}

RM_FN vf32 rm_log2_near(vf32 x) { return vf32_mul(rm_log_near(x), vf32_set1(RM_LOG_NARROW_INV_LN2)); }

#endif
#endif
