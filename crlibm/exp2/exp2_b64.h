/* exp2 for f32 and the 16-bit formats: exp_b64.h with c = 16, so that c x, k and d are exact. */
#pragma once

#include "../exp/exp_b64.h"

#define RM_EXP2_B64_ERR RM_EXP_B64_ERR

RM_FN vf64 rm_exp2_eval(vf64 x) { return rm_exp_sixteenths(x, 16.0); }
