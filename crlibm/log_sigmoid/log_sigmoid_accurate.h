/* The accurate phase of log_sigmoid: any argument, format and rounding mode. log_sigmoid(x) = -softplus(-x), so
 * log_sigmoid(inf) = -0, the sign of the results at large finite x. */
#pragma once

#include "../softplus/softplus_accurate.h"
#include "log_sigmoid.h"

RM_COLD uint64_t rm_log_sigmoid_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  return rm_softplus_signed_accurate(1, -x, format, mode, flags);
}
