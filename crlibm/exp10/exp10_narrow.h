/* exp10 in binary32: exp's narrow evaluation (exp_narrow.h) of x ln10 in two parts. */
#ifndef RM_EXP10_NARROW_H
#define RM_EXP10_NARROW_H

#include "../exp/exp_narrow.h"

#define RM_NARROW_exp10 RM_NARROW

#if RM_NARROW

RM_FN vm32 rm_exp10_narrow(vf32 x, vf32 *y) {
  vf32 m, t = rm_exp_narrow_times(x, RM_EXP_NARROW_LN10, RM_EXP_NARROW_LN10_LO, &m);
  return rm_exp_narrow_sum(t, m, y);
}

#endif
#endif
