/* exp10 for f32 and the 16-bit formats: exp_b64.h with c = 16 log2(10); |c x| < 2^11 for |x| <= 38.5. */
#pragma once

#include "../exp/exp_b64.h"

#define RM_EXP10_B64_ERR RM_EXP_B64_ERR

RM_FN vf64 rm_exp10_eval(vf64 x) { return rm_exp_sixteenths(x, RM_EXP10_INV_STEP); }
