/* log_sigmoid for f32 and the 16-bit formats: log_sigmoid(x) = -softplus(-x), softplus_b64.h. */
#pragma once

#include "../softplus/softplus_b64.h"

#define RM_LOG_SIGMOID_B64_ERR RM_SOFTPLUS_B64_ERR

/* For x <= 88. */
RM_FN vf64 rm_log_sigmoid_eval(vf64 x) {
  return vf64_sub(vf64_min(x, vf64_set1(0.0)), rm_softplus_tail(vf64_min(vf64_abs(x), vf64_set1(88.0))));
}
