/* The accurate phase of x - y: x + (-y). */
#pragma once

#include "../add/add_accurate.h"

RM_COLD uint64_t rm_subtract_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  return rm_add_accurate(x, -y, format, mode, flags);
}
