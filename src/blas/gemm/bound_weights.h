/* Weights of the squares that a norm adds up: first - q slope, where q counts along a row. */
#pragma once

#include "../../../crlibm/fp/bits.h"

typedef struct {
  double first, slope;
} rm_weights;
RM_TABLE rm_weights rm_no_weights = {1.0, 0.0};
RM_FN double rm_weight(rm_weights w, int64_t k) { return w.first - (double)k * w.slope; }
RM_FN rm_weights rm_weights_from(rm_weights w, int64_t k) { return (rm_weights){rm_weight(w, k), w.slope}; }
