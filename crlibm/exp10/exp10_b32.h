/* exp10 in binary32: exp's binary32 evaluation (exp_b32.h) of x ln10 in two parts. */
#pragma once

#include "../exp/exp_b32.h"

#define RM_B32_exp10 RM_B32

#if RM_B32

RM_FN vm32 rm_exp10_b32(vf32 x, vf32 *y) {
  vf32 m, t = rm_exp_b32_times(x, RM_EXP_B32_LN10, RM_EXP_B32_LN10_LO, &m);
  return rm_exp_b32_sum(t, m, y);
}

#endif
