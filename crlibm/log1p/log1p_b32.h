/* log1p in binary32 (simd/b32.h), by the steps of log_b32.h.
 *
 * 1 + x = yh + yl exactly, yh = 2^k m. Where c_j = 1 and k = 0, r = x itself, and log_b32.h has the relative error: below
 * 2^-33. Elsewhere |log(1 + x)| >= 2^-6.1, and d = yl 2^-k c_j, |d| <= 2^-23.9, adds d/(1 + r) = d (1 - r + r^2 - r^3):
 * 2^-43.9 is left out, with d^2/2 and the roundings of d below 2^-46. It joins the low parts, which stay below 2^-16.4: their
 * sums round as before, and once more, by 2^-40.4: relatively 2^-34.3. Sum below 2^-32.3, with Ziv's rounding test, which may
 * round by 2^-34.3, below 2^-32. */
#pragma once

#include "../log/log_b32.h"

#define RM_B32_log1p RM_B32

#define RM_LOG1P_B32_ERR RM_BOUND(0x1p-32f)

#if RM_B32

/* yh + yl = 1 + x, reduced: r, and d beside it; w + low the constant part. Around 1, where w = 0, r = x and d = 0. */
RM_FN void rm_log1p_b32_reduce(vf32 x, vf32 *yh, vf32 *r, vf32 *d, vf32 *w, vf32 *low) {
  const vf32 one = vf32_set1(1.0f), zero = vf32_set1(0.0f);
  vf32 k;
  vi32 j;
  *yh = vf32_add(one, x);
  vf32 b = vf32_sub(*yh, one), yl = vf32_add(vf32_sub(one, vf32_sub(*yh, b)), vf32_sub(x, b));
  rm_log_b32_reduce(*yh, &k, r, &j);
  rm_log_b32_constant(k, j, w, low);
  vm32 away = vf32_ne(*w, zero);
  *d = vf32_mul(vf32_scale(yl, vf32_sub(zero, k)), vf32_lookup32(rm_log_b32_c, j));
  *d = vf32_select(away, *d, zero);
  *r = vf32_select(away, *r, x);
}

/* The result has the sign of x, also when it is zero. */
RM_FN vm32 rm_log1p_b32(vf32 x, vf32 *y) {
  const vf32 one = vf32_set1(1.0f);
  vf32 yh, r, d, w, low, hi, lo;
  rm_log1p_b32_reduce(x, &yh, &r, &d, &w, &low);
  vf32 q = vf32_fnma(r, vf32_fnma(r, vf32_sub(one, r), one), one);
  rm_log_b32_sum(w, vf32_fma(d, q, low), r, &hi, &lo);
  vm32 undecided = vf32_undecided_by(hi, lo, vf32_mul(hi, vf32_set1(RM_LOG1P_B32_ERR)), y);
  *y = vf32_copysign(*y, x);
  return vm32_or(undecided, rm_log_b32_special(yh));
}

#endif
