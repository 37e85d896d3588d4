/* xlog1py for f32 and the 16-bit formats, evaluated in binary64: x log(1 + y), with the sign of y where that is 0. log(1 +
 * y) is within 2^-41 of itself (log1p_b64.h); the rest is as in xlogy_b64.h. */
#pragma once

#include "../log1p/log1p_b64.h"
#include "../xlogy/xlogy_b64.h"

#define RM_XLOG1PY_B64_ERR RM_XLOGY_B64_ERR

RM_FN vf64 rm_xlog1py_eval(vf64 x, vf64 y) { return vf64_mul(x, vf64_copysign(rm_log1p_eval(y), y)); }
