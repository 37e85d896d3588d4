/* silu in binary32 (simd/b32.h): x times the two parts of the sigmoid. The product of x and the high part is kept in two,
 * exactly for |x| >= 2^-60, the other rounds by 2^-46 beside the sigmoid's 1.6 2^-34. For |x| < 2^-60 the high part is 1/2
 * and x/2 the result while it is normal; smaller x are left to binary64. */
#pragma once

#include "../sigmoid/sigmoid_b32.h"

#define RM_B32_silu RM_B32_FULL

#define RM_SILU_B32_ERR RM_BOUND(0x1.7p-34f)

#if RM_B32

RM_FN vm32 rm_silu_b32(vf32 x, vf32 *y) {
  vf32 s, s_low;
  rm_sigmoid_b32_parts(x, &s, &s_low);
  vf32 hi = vf32_mul(x, s), lo = vf32_fma(x, s_low, vf32_fms(x, s, hi));
  vm32 undecided = vf32_undecided_by(hi, lo, vf32_mul(hi, vf32_set1(RM_SILU_B32_ERR)), y);
  *y = vf32_copysign(*y, x);            /* zeros */
  const int32_t min = (127 - 125) << 23; /* 2^-125 */
  vm32 tiny = vi32_ltu(vi32_sub(vf32_bits(vf32_abs(x)), vi32_set1(1)), vi32_set1(min - 1));
  return vm32_or(vm32_or(undecided, tiny), vf32_nle(vf32_set1(-69.0f), x));
}

#endif
