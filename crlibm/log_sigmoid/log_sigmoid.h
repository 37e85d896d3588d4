/* log_sigmoid: the fast kernels and their domain. */
#pragma once

#include "../softplus/softplus.h"
#include "../simd/fast_phase.h"
#include "log_sigmoid_b64.h"
#include "log_sigmoid_dd.h"

#define RM_LOG_SIGMOID_ODD 0

RM_FN vm64 rm_log_sigmoid_special(vf64 x, int format) { return rm_softplus_special(vf64_neg(x), format); }

/* -0 where softplus(-x) rounds to 0. */
RM_FN vm64 rm_log_sigmoid_decided(vf64 x, int format, vf64 *y) {
  vf64 r = vf64_neg(*y);
  vm64 zero = rm_softplus_decided(vf64_neg(x), format, &r);
  *y = vf64_neg(r);
  return zero;
}

RM_FAST_PHASE(log_sigmoid, LOG_SIGMOID, 1)
