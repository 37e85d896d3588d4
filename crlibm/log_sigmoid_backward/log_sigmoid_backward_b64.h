/* log_sigmoid_backward for f32 and the 16-bit formats, evaluated in binary64: g sigmoid(-x). sigmoid_product_b64.h derives
 * the error. */
#pragma once

#include "../sigmoid/sigmoid_product_b64.h"

#define RM_LOG_SIGMOID_BACKWARD_B64_ERR RM_SIGMOID_VALUE_B64_ERR

RM_FN vf64 rm_log_sigmoid_backward_eval(vf64 g, vf64 x) {
  return rm_sigmoid_value_eval(g, rm_sigmoid_cut(x), RM_EXP_INV_STEP);
}
