/* exp10m1 for f32 and the 16-bit formats, evaluated in binary64: exp2m1_b64.h, with its error, for c = 16 log2(10). */
#pragma once

#include "../exp2m1/exp2m1_b64.h"

#define RM_EXP10M1_B64_ERR RM_EXP2M1_B64_ERR

RM_FN vf64 rm_exp10m1_eval(vf64 x) { return rm_exp2m1_sixteenths(vf64_max(vf64_set1(-19.0), x), RM_EXP10_INV_STEP); }
