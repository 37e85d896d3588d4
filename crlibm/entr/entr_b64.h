/* entr for f32 and the 16-bit formats, evaluated in binary64: xlogy of -x and x, whose bound holds for all pairs. */
#pragma once

#include "../xlogy/xlogy_b64.h"

#define RM_ENTR_B64_ERR RM_XLOGY_B64_ERR

RM_FN vf64 rm_entr_eval(vf64 x) { return rm_xlogy_eval(vf64_neg(x), x); }
