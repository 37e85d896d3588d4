/* silu in binary32 (simd/narrow.h): x times the two parts of the sigmoid. The product of x and the high part is kept in two, the
 * other rounds by 2^-46. For |x| < 2^-60 the high part is 1/2 and x/2 the result: exact unless it is
 * subnormal, and then left to binary64. */
#ifndef RM_SILU_NARROW_H
#define RM_SILU_NARROW_H

#include "../sigmoid/sigmoid_narrow.h"

#define RM_SILU_NARROW_ERR RM_BOUND(0x1.7p-34f)
#define RM_SILU_NEAR_ERR RM_BOUND(0x1p-20f)
#define RM_SILU_NEAR_NORMAL 0

#if RM_NARROW

RM_FN vm32 rm_silu_narrow(vf32 x, vf32 *y) {
  vf32 s, s_low;
  rm_sigmoid_narrow_parts(x, &s, &s_low);
  vf32 hi = vf32_mul(x, s), lo = vf32_fma(x, s_low, vf32_fms(x, s, hi));
  vm32 undecided = vf32_undecided_by(hi, lo, vf32_mul(hi, vf32_set1(RM_SILU_NARROW_ERR)), y);
  return vm32_or(vm32_or(undecided, vf32_subnormal(*y)), vf32_nle(vf32_set1(-69.0f), x));
}

RM_FN vf32 rm_silu_near(vf32 x) { return vf32_mul(x, rm_sigmoid_near(x)); }

#endif
#endif
